// Texts and places in them. The server counts characters as Unicode code points, JavaScript in units of
// UTF-16, in which an emoji has two: texts are therefore kept as arrays of code points.

import { element } from "./dom.js";

export const codePoints = (text) => Array.from(text);

/**
 * A text with marks, and with a `span.word` for each word.
 *
 * points: the text, from `codePoints`.
 * marks: `{start, end, className, title}`, in order and apart from each other.
 * words: `[start, end]` of each word, in order. A word that a mark cuts becomes two spans.
 */
export function markedText(points, marks = [], words = []) {
  const whole = document.createDocumentFragment();
  let word = 0;

  function appendUpTo(parent, start, end) {
    let position = start;
    while (position < end) {
      while (word < words.length && words[word][1] <= position) word++;
      const [wordStart, wordEnd] = words[word] ?? [end, end];
      if (wordStart > position) {
        const stop = Math.min(wordStart, end);
        parent.append(points.slice(position, stop).join(""));
        position = stop;
      } else {
        const stop = Math.min(wordEnd, end);
        const text = points.slice(position, stop).join("");
        parent.append(element("span", { class: "word", "data-place": word }, text));
        position = stop;
      }
    }
  }

  let position = 0;
  for (const { start, end, className, title } of marks) {
    appendUpTo(whole, position, start);
    const mark = element("mark", { class: className, title });
    appendUpTo(mark, start, end);
    whole.append(mark);
    position = end;
  }
  appendUpTo(whole, position, points.length);
  return whole;
}
