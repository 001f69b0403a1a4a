// A passage as it is read: with the answer marked, and its words to point at.

import { element } from "./dom.js";
import { codePoints, markedText } from "./text.js";

export class PassageView {
  /** `number` is given where there are several passages, which can be folded. */
  constructor(text, number = null) {
    this.points = codePoints(text);
    this.marks = [];
    this.words = [];
    this.strip = element("div", { class: "strip" });
    this.text = element("p", { class: "passage-text", dir: "auto" });
    if (number === null) {
      this.container = element("div", { class: "passage" }, this.strip, this.text);
    } else {
      this.tag = element("span", { class: "tag", hidden: true }, "answer");
      const start = element("span", { class: "start", dir: "auto" }, this.points.slice(0, 80).join(""));
      const summary = element("summary", {}, `Passage ${number}`, this.tag, start);
      this.container = element("details", { class: "passage" }, summary, this.strip, this.text);
    }
    this.draw();
  }

  /** Marks parts of the text: `{start, end, className}`, in code points. */
  mark(marks) {
    this.marks = marks;
    this.draw();
  }

  /** Makes words, given by their first and one past their last code point, elements to point at. */
  setWords(offsets) {
    this.words = offsets;
    this.draw();
  }

  setChosen(isChosen, hasAnswer) {
    this.container.classList.toggle("chosen", isChosen && hasAnswer);
    if (!this.tag) return;
    this.tag.hidden = !(isChosen && hasAnswer);
    this.container.open = isChosen;
  }

  scrollToMark() {
    this.text.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  draw() {
    this.text.replaceChildren(markedText(this.points, this.marks, this.words));
  }
}
