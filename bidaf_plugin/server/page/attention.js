// What the model attends to: a word of the question or the passage that is pointed at, focused or
// clicked shades the words of the other text.

import { MatrixView } from "./matrix.js";
import { StripView } from "./strip.js";
import { codePoints, markedText } from "./text.js";
import { largestOf, shade, strongestWords } from "./weights.js";

const HINT = "Point at a word of the question or the passage, or tap it.";

export class AttentionView {
  /**
   * data: the server's: `matrix` has a row for each word of the question, and in it the attention of
   * each word of the passage to it; `passage_weights` is how much each word of the passage matters.
   */
  constructor(data, asked, { question, passage, readout, part }) {
    this.data = data;
    this.question = question;
    this.asked = asked;
    this.passage = passage;
    this.readout = readout;
    this.part = part;
    this.kept = null;
    this.largest = largestOf(data.matrix);
    this.listeners = new AbortController();
    question.replaceChildren(markedText(codePoints(asked), [], data.question_offsets));
    for (const word of question.querySelectorAll(".word")) {
      word.tabIndex = 0;
      word.setAttribute("role", "button");
    }
    const point = (choice) => this.show(choice ?? this.kept);
    this.strip = data.passage_weights && new StripView(passage.strip, data, point);
    this.matrix = new MatrixView(part, data, point);
    this.listen(question, "question");
    this.listen(passage.text, "passage");
  }

  /** To be called when the passage has been drawn anew, with the characters of the answer or null. */
  refresh(characters) {
    this.questionWords = wordsByPlace(this.question, this.data.question_words.length);
    this.passageWords = wordsByPlace(this.passage.text, this.data.passage_words.length);
    if (this.passageWords[0]?.[0]) this.passageWords[0][0].tabIndex = 0;
    const answer = characters && wordRange(this.data.passage_offsets, characters);
    this.strip?.setAnswer(answer);
    this.matrix.setAnswer(answer);
    this.show(this.kept);
  }

  clear() {
    this.listeners.abort();
    this.matrix.stop();
    this.show(null);
    this.question.replaceChildren(this.asked);
    this.passage.strip.replaceChildren();
    this.passage.setWords([]);
    this.part.replaceChildren();
    this.readout.textContent = "";
  }

  listen(text, side) {
    const { signal } = this.listeners;
    const choiceAt = (event) => {
      const word = event.target.closest?.(".word");
      return word && { [side]: Number(word.dataset.place) };
    };
    const on = (name, react) => text.addEventListener(name, react, { signal });
    on("pointerover", (event) => {
      if (event.pointerType === "mouse") this.show(choiceAt(event) ?? this.kept);
    });
    on("pointerleave", () => this.show(this.kept));
    on("focusin", (event) => this.show(choiceAt(event) ?? this.kept));
    on("focusout", () => this.show(this.kept));
    on("click", (event) => this.keep(choiceAt(event)));
    on("keydown", (event) => this.onKey(event, choiceAt(event), side));
  }

  onKey(event, choice, side) {
    if (!choice) return;
    const words = side === "question" ? this.questionWords : this.passageWords;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step && words[choice[side] + step]?.[0];
    if (next) {
      // One stop of the tab key for the whole passage, else there would be hundreds.
      if (side === "passage") words[choice[side]][0].removeAttribute("tabindex");
      next.tabIndex = 0;
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.keep(choice);
    } else if (event.key === "Escape") {
      this.keep(null);
    }
    if (step || event.key === " ") event.preventDefault();
  }

  /** Goes on showing a word when nothing is pointed at; if it is that one already, no longer. */
  keep(choice) {
    const same = choice && isSame(choice, this.kept);
    this.kept = same ? null : (choice ?? null);
    this.show(this.kept);
    this.questionWords.flat().forEach((word) => {
      word.setAttribute("aria-pressed", String(Number(word.dataset.place) === this.kept?.question));
    });
    if (this.kept?.passage !== undefined) this.matrix.moveTo(this.kept.passage);
  }

  /** Shows `{question: place}`, `{passage: place}` or both, or nothing if it is null. */
  show(choice) {
    const { matrix } = this.data;
    const { question, passage } = choice ?? {};
    const column = passage !== undefined && matrix.map((row) => row[passage]);
    const row = question !== undefined && matrix[question];
    this.colour(this.question, this.questionWords, column, question);
    this.colour(this.passage.text, this.passageWords, row, passage);
    this.strip?.point(passage);
    this.matrix.point(choice);
    this.readout.textContent = choice ? this.describe(choice) : HINT;
  }

  colour(text, words, weights, pointed) {
    text.classList.toggle("attending", Boolean(weights));
    words?.forEach((parts, place) => {
      for (const part of parts) {
        part.style.setProperty("--weight", weights ? shade(weights[place], this.largest).toFixed(3) : 0);
        part.classList.toggle("pointed", place === pointed);
      }
    });
  }

  describe({ question, passage }) {
    const { matrix, question_words, passage_words, passage_weights } = this.data;
    if (question !== undefined && passage !== undefined) {
      const value = matrix[question][passage].toFixed(2);
      return `“${passage_words[passage]}” attends to “${question_words[question]}” with ${value}.`;
    }
    if (question !== undefined) {
      const strongest = strongestWords(matrix[question], passage_words);
      return `Attend most to “${question_words[question]}”: ${strongest}.`;
    }
    const strongest = strongestWords(matrix.map((row) => row[passage]), question_words);
    const weight = passage_weights ? ` Its own weight is ${passage_weights[passage].toFixed(3)}.` : "";
    return `“${passage_words[passage]}” attends most to ${strongest}.${weight}`;
  }
}

/** The elements of each word, of which a mark can make several. */
function wordsByPlace(text, count) {
  const words = Array.from({ length: count }, () => []);
  for (const word of text.querySelectorAll(".word")) words[word.dataset.place]?.push(word);
  return words;
}

/** The first and last word that have characters of a range. */
function wordRange(offsets, [start, end]) {
  const first = offsets.findIndex((word) => word[1] > start);
  const last = offsets.findLastIndex((word) => word[0] < end);
  return first >= 0 && last >= first ? [first, last] : null;
}


const isSame = (one, other) =>
  one?.question === other?.question && one?.passage === other?.passage;
