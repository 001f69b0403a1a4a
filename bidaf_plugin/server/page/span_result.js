// The answer of a model that points at a part of the passage.

import { getAttention } from "./api.js";
import { AttentionView } from "./attention.js";
import { element } from "./dom.js";
import { PassageView } from "./passage.js";
import { answerHead, rankedList } from "./ranking.js";

export class SpanResult {
  /** Shows `record`, the server's answer of `model` to `asked`, in `container`. */
  constructor(container, model, asked, record, signal) {
    this.model = model;
    this.asked = asked;
    this.signal = signal;
    this.attentionOf = new Map();
    const several = asked.passages.length > 1;
    this.passages = asked.passages.map((text, index) => new PassageView(text, several ? index + 1 : null));
    this.question = element("p", { class: "question-words", dir: "auto" }, asked.question);
    this.items = this.rankedItems(record);
    const { list, choose } = rankedList("Most probable answers", this.items);
    this.markChoice = choose;
    this.attentionPart = element("div", { class: "attention-part" });
    this.readout = element("p", { class: "readout", role: "status", hidden: !model.has_attention });
    const isAnswered = record.best_span_characters != null;
    container.replaceChildren(
      answerHead(isAnswered ? record.best_span_str : null, null, record.confidence, "Answer"),
      list,
      ...this.notes(record),
      element("h3", { class: "label" }, "Question"),
      this.question,
      this.readout,
      element("h3", { class: "label" }, several ? "Passages" : "Passage"),
      ...this.passages.map((passage) => passage.container),
      this.attentionPart,
    );
    const best = { characters: record.best_span_characters, passage_index: record.passage_index ?? 0 };
    this.choose(isAnswered ? best : null);
  }

  rankedItems(record) {
    const items = (record.n_best ?? []).map((answer) => ({
      answer,
      text: answer.text,
      probability: answer.probability,
      detail: this.passages.length > 1 ? `passage ${answer.passage_index + 1}` : "",
      onChoose: () => this.choose(answer, true),
    }));
    const noAnswer = record.no_answer_probability ?? null;
    if (noAnswer !== null) items.push({ text: "no answer", probability: noAnswer });
    return items.sort((one, other) => other.probability - one.probability);
  }

  notes({ n_best: [first] = [], confidence, best_span_str: best }) {
    // The confidence is that of one place.
    if (first?.text !== best || first.probability < 1.05 * confidence) return [];
    return [element("p", { class: "notice" }, "The list counts a text in all places where it stands.")];
  }

  /** Moves the highlight to an answer, or away if it is null. */
  choose(answer, scroll = false) {
    const index = answer?.passage_index ?? 0;
    this.markChoice(this.items.findIndex((item) => answer && isSamePlace(item.answer, answer)));
    this.passages.forEach((passage, other) => {
      const [start, end] = (other === index && answer?.characters) || [0, 0];
      passage.mark(end > start ? [{ start, end, className: "answer-mark" }] : []);
      passage.setChosen(other === index, Boolean(answer));
    });
    if (scroll) this.passages[index].scrollToMark();
    if (this.model.has_attention) this.showAttention(index, answer);
  }

  async showAttention(index, answer) {
    if (this.attention?.index === index) {
      this.attention.view.refresh(answer?.characters);
      return;
    }
    this.attention?.view.clear();
    this.attention = null;
    this.wanted = index;
    const passage = this.passages[index];
    // Room for the strip, so that the text does not jump when it comes.
    passage.strip.classList.add("awaited");
    try {
      const data = await this.fetchAttention(index);
      if (this.signal.aborted || this.wanted !== index || this.attention) return;
      passage.setWords(data.passage_offsets);
      const view = new AttentionView(data, this.asked.question, {
        question: this.question,
        passage,
        readout: this.readout,
        part: this.attentionPart,
      });
      this.attention = { index, view };
      view.refresh(passage.marks[0] && [passage.marks[0].start, passage.marks[0].end]);
    } catch (error) {
      if (this.signal.aborted || this.wanted !== index) return;
      this.attentionPart.replaceChildren(
        element("p", { class: "notice" }, `What the model attends to is not shown. ${error.message}`),
      );
    } finally {
      passage.strip.classList.remove("awaited");
    }
  }

  fetchAttention(index) {
    if (!this.attentionOf.has(index)) {
      const { question, passages } = this.asked;
      this.attentionOf.set(index, getAttention(this.model, question, passages[index], this.signal));
    }
    return this.attentionOf.get(index);
  }
}

const isSamePlace = (one, other) =>
  one?.passage_index === other.passage_index && String(one.characters) === String(other.characters);
