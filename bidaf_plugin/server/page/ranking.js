// The head of a result, and the list of what could be the answer.

import { button, element, percent } from "./dom.js";

// Letters of an answer that is a sentence rather than a name.
const LONG = 60;

/** The answer in large letters, with what stands beside it; null if there is none. */
export function answerHead(answer, detail, probability, label) {
  const size = answer === null ? "none" : answer.length > LONG ? "long" : "short";
  return element(
    "div",
    { class: "answer-head" },
    element(
      "div",
      { class: "answer-words" },
      element("h2", { class: "label" }, label),
      element("p", { class: `answer ${size}`, dir: "auto" }, answer ?? "No answer in this text"),
      ...(detail ? [element("p", { class: "detail" }, detail)] : []),
    ),
    element(
      "div",
      { class: "confidence" },
      element("span", { class: "label" }, "Confidence"),
      element("span", { class: "value" }, percent(probability)),
      bar(probability),
    ),
  );
}

/**
 * A ranked list of `{text, detail, probability}`; those with an `onChoose` can be chosen. Gives the
 * list and a function that marks the chosen one.
 */
export function rankedList(label, items) {
  const rows = items.map(({ text, detail, probability, onChoose }) => {
    const parts = [
      element("span", { class: "text", dir: "auto", title: text }, text, ...(detail ? [element("small", {}, detail)] : [])),
      bar(probability),
      element("span", { class: "value" }, percent(probability)),
    ];
    if (!onChoose) return element("div", { class: "row" }, ...parts);
    const row = button("", onChoose, { class: "row" });
    row.append(...parts);
    return row;
  });
  const list = element("ol", { class: "ranking", "aria-label": label }, ...rows.map((row) => element("li", {}, row)));
  const choose = (chosen) => {
    rows.forEach((row, index) => {
      if (row.tagName === "BUTTON") row.setAttribute("aria-pressed", String(index === chosen));
    });
  };
  return { list, choose };
}

function bar(probability) {
  const filled = element("span", { class: "filled" });
  filled.style.setProperty("--part", probability);
  return element("span", { class: "bar", "aria-hidden": "true" }, filled);
}
