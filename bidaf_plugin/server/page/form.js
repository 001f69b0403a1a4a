// The fields: what they hold, what is wrong with them, and the examples that fill them.

import { button, byId, element } from "./dom.js";
import { CLOZE_EXAMPLES, SPAN_EXAMPLES } from "./examples.js";

const question = byId("question");
const names = byId("names");
const passageList = byId("passages");

let passageCount = 0;

const passageAreas = () => Array.from(passageList.querySelectorAll("textarea"));

function addPassage(text = "") {
  const id = `passage-${++passageCount}`;
  const area = element("textarea", {
    id,
    dir: "auto",
    rows: 4,
    placeholder: "Paste or write a text here.",
    "aria-describedby": `${id}-error`,
  });
  area.value = text;
  const label = element("label", { for: id });
  const remove = button("Remove", () => removePassage(field), { class: "link remove" });
  const head = element("div", { class: "field-head" }, label, remove);
  const error = element("p", { class: "error", id: `${id}-error`, role: "alert" });
  const field = element("div", { class: "field" }, head, area, error);
  passageList.append(field);
  numberPassages();
  return area;
}

function removePassage(field) {
  const next = field.nextElementSibling ?? field.previousElementSibling;
  field.remove();
  numberPassages();
  next.querySelector("textarea").focus();
}

function numberPassages() {
  const fields = Array.from(passageList.children);
  fields.forEach((field, index) => {
    const name = fields.length > 1 ? `Passage ${index + 1}` : "Passage";
    field.querySelector("label").textContent = name;
    const remove = field.querySelector(".remove");
    remove.hidden = fields.length === 1;
    remove.setAttribute("aria-label", `Remove ${name.toLowerCase()}`);
    field.querySelector("textarea").classList.toggle("one-of-several", fields.length > 1);
  });
}

/** What the fields hold: `{question, passages, names}`, as texts. */
export function readFields() {
  return {
    question: question.value,
    passages: passageAreas().map((area) => area.value),
    names: names.value,
  };
}

export function fillFields({ question: asked = "", passages = [""], names: known = "" }) {
  clearErrors();
  question.value = asked;
  names.value = known;
  passageList.replaceChildren();
  for (const passage of passages) addPassage(passage);
}

/** "@entity1: Ada Orn" on a line each, as an object; null if there is none. */
export function parseNames(text) {
  const pairs = text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => line.split(/:(.*)/s, 2).map((part) => part.trim()));
  const wrong = pairs.find(([entity, name]) => !/^@entity[0-9]+$/.test(entity) || !name);
  if (wrong) throw new Error(`Expected lines like “@entity1: Ada Orn”, found “${wrong[0].slice(0, 40)}”.`);
  return pairs.length ? Object.fromEntries(pairs) : null;
}

/** Says what is wrong, beside the field. True if nothing is. */
export function checkFields(isCloze) {
  clearErrors();
  const problem = findProblem(isCloze);
  if (problem) showFieldError(...problem);
  return !problem;
}

function findProblem(isCloze) {
  const empty = passageAreas().find((area) => !area.value.trim());
  if (empty) return [empty, "There is no passage yet: write or paste a text, or choose an example."];
  if (!question.value.trim()) return [question, "There is no question yet."];
  try {
    if (isCloze) parseNames(names.value);
  } catch (error) {
    return [names, error.message];
  }
  return null;
}

// A request that is refused with one of these has a field that is wrong.
const FIELD_STATUSES = [400, 413, 422];

/** Shows a sentence of the server, beside the field if it is about one. */
export function showError({ message, status }) {
  const area = FIELD_STATUSES.includes(status) && areaNamedIn(message);
  if (area) showFieldError(area, message);
  else byId("form-error").textContent = message;
}

function areaNamedIn(message) {
  const namesQuestion = /\bquestion\b/.test(message);
  const passage = /\bpassages?\b(?:\[(\d+)\])?/.exec(message);
  if (/\bnames\b/.test(message)) return names;
  if (Boolean(passage) === namesQuestion) return null;
  return namesQuestion ? question : passageAreas()[passage[1] ?? 0];
}

function showFieldError(area, message) {
  area.setAttribute("aria-invalid", "true");
  byId(`${area.id}-error`).textContent = message;
  byId("names-field").open ||= area === names;
  area.focus();
}

function clearErrors() {
  for (const error of document.querySelectorAll(".error")) error.textContent = "";
  for (const area of document.querySelectorAll("[aria-invalid]")) area.removeAttribute("aria-invalid");
}

/** Offers the examples and fields that fit a model. */
export function fitTo(model, maxPassages, ask) {
  const isCloze = model.kind === "cloze";
  byId("names-field").hidden = !isCloze;
  question.placeholder = isCloze ? "@placeholder paid for the quay" : "Who designed it?";
  const add = byId("add-passage");
  add.hidden = !model.takes_passages;
  add.onclick = () => {
    if (passageAreas().length < maxPassages) addPassage().focus();
  };
  const fitting = (isCloze ? CLOZE_EXAMPLES : SPAN_EXAMPLES).filter(
    (example) => model.takes_passages || example.passages.length === 1,
  );
  byId("examples").replaceChildren(
    ...fitting.map((example) =>
      element("li", {}, button(example.title, () => choose(example, ask), { class: "chip" })),
    ),
  );
}

function choose(example, ask) {
  const fill = (text) => {
    fillFields({ ...example, question: text });
    offerQuestions(example, fill, text);
    ask();
  };
  fill(example.questions[0]);
}

function offerQuestions(example, fill, asked) {
  byId("questions").replaceChildren(
    ...example.questions
      .filter((text) => text !== asked)
      .map((text) => element("li", {}, button(text, () => fill(text), { class: "chip question" }))),
  );
}
