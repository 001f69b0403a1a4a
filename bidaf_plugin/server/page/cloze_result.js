// The answer of a model that fills a gap with an entity of the passage.

import { element, percent } from "./dom.js";
import { PassageView } from "./passage.js";
import { answerHead, rankedList } from "./ranking.js";

const MAX_CANDIDATES = 10;

export class ClozeResult {
  /** Shows `record`, the server's answer to `asked`, in `container`. */
  constructor(container, model, asked, record) {
    this.candidates = record.candidates;
    this.passage = new PassageView(asked.passages[0]);
    const { list, choose } = rankedList(
      "Entities, the most probable first",
      this.candidates.slice(0, MAX_CANDIDATES).map((candidate, index) => ({
        text: candidate.name ?? candidate.entity,
        detail: candidate.name ? candidate.entity : "",
        probability: candidate.probability,
        onChoose: () => this.choose(index, true),
      })),
    );
    this.markChoice = choose;
    this.question = element("p", { class: "question-words", dir: "auto" });
    const name = record.best_entity_name;
    container.replaceChildren(
      answerHead(name ?? record.best_entity, name ? record.best_entity : null, record.confidence, "In the gap"),
      list,
      element("h3", { class: "label" }, "Question"),
      this.question,
      element("h3", { class: "label" }, "Passage"),
      this.passage.container,
    );
    this.asked = asked.question;
    this.choose(0);
  }

  /** Marks the mentions of a candidate, the stronger the more probable they are, and fills the gap. */
  choose(index, scroll = false) {
    const chosen = this.candidates[index];
    this.markChoice(index);
    const places = this.candidates.flatMap((candidate) =>
      candidate.mentions.map(({ characters: [start, end], probability }) => ({
        start,
        end,
        className: candidate === chosen ? "answer-mark" : "entity",
        title: [candidate.name, percent(probability)].filter(Boolean).join(" · "),
      })),
    );
    places.sort((one, other) => one.start - other.start);
    this.passage.mark(places);
    const [before, ...after] = this.asked.split("@placeholder");
    const filled = element("mark", { class: "answer-mark" }, chosen?.name ?? chosen?.entity ?? "");
    this.question.replaceChildren(before, filled, after.join("@placeholder"));
    if (scroll) this.passage.text.querySelector(".answer-mark")?.scrollIntoView({ block: "nearest" });
  }
}
