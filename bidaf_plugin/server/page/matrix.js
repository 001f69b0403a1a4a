// The attention matrix: all of it as a small picture, and some words of it as a table that can be read.

import { element, svgElement } from "./dom.js";
import { rectangle, setColumns } from "./strip.js";
import { largestOf, shade } from "./weights.js";

// Widths in pixels: of a column of the table, and of a letter of the question's words before its rows.
const COLUMN = 24;
const LETTER = 8;
const MAX_LABEL = 120;
// Of colour, of which each is one path.
const LEVELS = 8;

export class MatrixView {
  /** `onPoint` is called with what is pointed at, `{question, passage}`, or null. */
  constructor(container, data, onPoint) {
    this.data = data;
    this.largest = largestOf(data.matrix);
    this.answer = null;
    this.first = 0;
    this.count = 0;
    this.answerColumns = rectangle("overview-answer");
    this.frame = rectangle("overview-frame");
    this.slider = element("input", { type: "range", min: 0, "aria-label": "Words of the passage that the table shows" });
    this.slider.addEventListener("input", () => this.drawFrom(Number(this.slider.value)));
    this.overview = this.makeOverview();
    this.table = element("table", { class: "lens" });
    this.frameOfTable = element("div", { class: "lens-frame" }, this.table);
    this.listen(onPoint);
    // The slider lies over the picture and cannot be seen, but it can be dragged and has the keys.
    this.all = element("div", { class: "overview" }, this.slider, this.overview);
    const caption = element("span", { class: "caption" }, "of each word of the passage to each word of the question");
    container.replaceChildren(element("h3", { class: "label" }, "Attention", caption), this.all, this.frameOfTable);
    // Also draws it for the first time. In the next frame, since drawing changes the size again.
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.observer.observe(this.frameOfTable);
  }

  stop() {
    this.observer.disconnect();
  }

  listen(onPoint) {
    this.table.addEventListener("pointerover", (event) => {
      const cell = event.target.closest("[data-row], [data-column]");
      if (!cell) return;
      const { row, column } = cell.dataset;
      onPoint({
        ...(row !== undefined && { question: Number(row) }),
        ...(column !== undefined && { passage: this.first + Number(column) }),
      });
    });
    this.table.addEventListener("pointerleave", () => onPoint(null));
  }

  makeOverview() {
    const { matrix, passage_words: words } = this.data;
    const paths = Array.from({ length: LEVELS + 1 }, () => []);
    matrix.forEach((row, y) => {
      row.forEach((value, x) => {
        paths[Math.round(shade(value, this.largest) * LEVELS)].push(`M${x} ${y}h1v1h-1z`);
      });
    });
    const levels = paths
      .map((path, level) => svgElement("path", { d: path.join(""), opacity: level / LEVELS }))
      .slice(1);
    return svgElement(
      "svg",
      {
        viewBox: `0 0 ${words.length} ${matrix.length}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `Attention of ${words.length} words of the passage to ${matrix.length} words of the question`,
      },
      this.answerColumns,
      ...levels,
      this.frame,
    );
  }

  setAnswer(range) {
    this.answer = range ?? null;
    setColumns(this.answerColumns, range);
    if (range) this.moveTo((range[0] + range[1] + 1) / 2);
    else this.drawFrom(this.first);
  }

  /** Lets the table show the words around a place. */
  moveTo(place) {
    this.drawFrom(Math.floor(place - this.count / 2));
  }

  /** Makes the table as wide as there is room. */
  fit() {
    const { matrix, passage_words: words, question_words: questionWords } = this.data;
    const width = this.frameOfTable.clientWidth;
    const longest = Math.max(...questionWords.map((word) => word.length));
    const labels = Math.min(12 + longest * LETTER, MAX_LABEL, width / 4);
    const count = Math.max(1, Math.min(words.length, Math.floor((width - labels) / COLUMN)));
    if (count === this.count) return;
    this.count = count;
    this.table.style.setProperty("--labels", `${labels}px`);
    this.all.style.setProperty("--rows", matrix.length);
    this.all.hidden = count === words.length;
    this.slider.max = words.length - count;
    const columns = Array.from({ length: count }, (_, column) => column);
    const header = (column) => element("th", { scope: "col", "data-column": column }, element("span", {}));
    const cell = (row) => (column) => element("td", { "data-row": row, "data-column": column });
    this.table.replaceChildren(
      element("thead", {}, element("tr", {}, element("td"), ...columns.map(header))),
      element(
        "tbody",
        {},
        ...matrix.map((_, row) => {
          const word = element("span", { dir: "auto" }, questionWords[row]);
          const label = element("th", { scope: "row", "data-row": row, title: questionWords[row] }, word);
          return element("tr", {}, label, ...columns.map(cell(row)));
        }),
      ),
    );
    if (this.answer) this.setAnswer(this.answer);
    else this.drawFrom(this.first);
  }

  drawFrom(first) {
    const { matrix, passage_words: words } = this.data;
    this.first = Math.max(0, Math.min(first, words.length - this.count));
    this.slider.value = this.first;
    setColumns(this.frame, [this.first, this.first + this.count - 1]);
    for (const cell of this.table.querySelectorAll("th[data-column]")) {
      const place = this.first + Number(cell.dataset.column);
      cell.firstChild.textContent = words[place];
      cell.classList.toggle("in-answer", this.answer !== null && place >= this.answer[0] && place <= this.answer[1]);
    }
    for (const cell of this.table.querySelectorAll("td[data-column]")) {
      const value = matrix[cell.dataset.row][this.first + Number(cell.dataset.column)];
      cell.style.setProperty("--weight", shade(value, this.largest).toFixed(3));
    }
  }

  point(choice) {
    for (const cell of this.table.querySelectorAll(".pointed")) cell.classList.remove("pointed");
    const { question, passage } = choice ?? {};
    if (question !== undefined) {
      this.table.querySelector(`th[data-row="${question}"]`)?.classList.add("pointed");
    }
    if (passage !== undefined) {
      this.table.querySelector(`th[data-column="${passage - this.first}"]`)?.classList.add("pointed");
    }
  }
}
