// Query-to-context attention: a bar for each word of the passage, the higher the more it matters to
// the question.

import { element, svgElement } from "./dom.js";
import { strongestWords } from "./weights.js";

export class StripView {
  constructor(container, { passage_words: words, passage_weights: weights }, onPoint) {
    const largest = Math.max(...weights, 1e-9);
    this.answer = rectangle("strip-answer");
    this.pointed = rectangle("strip-pointed");
    this.svg = svgElement(
      "svg",
      {
        class: "strip-bars",
        viewBox: `0 0 ${words.length} 1`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `How much each word matters to the question. Most: ${strongestWords(weights, words, 3)}.`,
      },
      this.answer,
      this.pointed,
      svgElement("path", { d: bars(weights.map((weight) => weight / largest)) }),
    );
    const placeOf = (event) => {
      const box = this.svg.getBoundingClientRect();
      const place = Math.floor(((event.clientX - box.left) / box.width) * words.length);
      return Math.max(0, Math.min(place, words.length - 1));
    };
    this.svg.addEventListener("pointermove", (event) => onPoint({ passage: placeOf(event) }));
    this.svg.addEventListener("pointerleave", () => onPoint(null));
    const caption = element("p", { class: "caption" }, "How much each word matters to the question");
    container.replaceChildren(caption, this.svg);
  }

  setAnswer(range) {
    setColumns(this.answer, range);
  }

  point(place) {
    setColumns(this.pointed, place === undefined ? null : [place, place]);
  }
}

function bars(heights) {
  // Never quite nothing, so that words can be seen as a row.
  const tops = heights.map((height) => (1 - Math.max(height, 0.03)).toFixed(3));
  return tops.map((top, place) => `M${place + 0.08} 1V${top}h.84V1z`).join("");
}

export function rectangle(className) {
  return svgElement("rect", { class: className, y: 0, height: "100%", width: 0 });
}

/** Lets a rectangle stand over columns: the first and the last, or none if it is null. */
export function setColumns(rectangle, range) {
  rectangle.setAttribute("x", range ? range[0] : 0);
  rectangle.setAttribute("width", range ? range[1] - range[0] + 1 : 0);
}
