// Puts the page together: models, asking, links.

import { ApiError, getAnswer, getModels } from "./api.js";
import { ClozeResult } from "./cloze_result.js";
import { byId, element, percent } from "./dom.js";
import { checkFields, fillFields, fitTo, parseNames, readFields, showError } from "./form.js";
import { fromHash, toHash } from "./link.js";
import { SpanResult } from "./span_result.js";

const N_BEST = 5;

let models = [];
let limits = {};
// What is being asked, and what the results that are shown still load.
let asking = null;
let showing = null;
const intro = byId("results").firstElementChild;

const modelNamed = (name) => models.find((model) => model.name === name);
const chosenModel = () => modelNamed(byId("model").value);

function option(value, text) {
  return element("option", { value }, text);
}

/** Offers what fits the chosen model: examples, fields, and models of the same kind to compare with. */
function fitToModel() {
  const model = chosenModel();
  byId("model").title = model.description ?? "";
  byId("form").dataset.kind = model.kind;
  const others = models.filter((other) => other.kind === model.kind && other !== model);
  const compared = byId("compare").value;
  byId("compare").replaceChildren(option("", "none"), ...others.map(({ name }) => option(name, name)));
  byId("compare").value = others.some(({ name }) => name === compared) ? compared : "";
  byId("compare-control").hidden = !others.length;
  fitTo(model, limits.max_passages ?? 50, ask);
}

async function ask({ keepsAddress = false } = {}) {
  const isCloze = chosenModel().kind === "cloze";
  asking?.abort();
  byId("notice").textContent = "";
  if (!checkFields(isCloze)) {
    setBusy(false);
    return;
  }
  asking = new AbortController();
  const { signal } = asking;
  const fields = readFields();
  const asked = { ...fields, names: isCloze ? parseNames(fields.names) : null };
  if (!keepsAddress) setAddress(fields, isCloze);
  setBusy(true);
  try {
    await showAnswers(asked, signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof ApiError)) console.error(error);
    showError(error);
  }
  if (!signal.aborted) setBusy(false);
}

async function showAnswers(asked, signal) {
  const compared = modelNamed(byId("compare").value);
  const used = compared ? [chosenModel(), compared] : [chosenModel()];
  const records = await Promise.all(used.map((model) => getAnswer(model, asked, N_BEST, signal)));
  showing?.abort();
  showing = new AbortController();
  const results = used.map(() => element("article", { class: "result" }));
  byId("results").replaceChildren(...results);
  document.body.classList.toggle("comparing", used.length > 1);
  used.forEach((model, index) => {
    const body = element("div", { class: "result-body" });
    results[index].append(...(models.length > 1 ? [modelLine(model)] : []), body);
    const Result = model.kind === "cloze" ? ClozeResult : SpanResult;
    new Result(body, model, asked, records[index], showing.signal);
  });
  byId("announcement").textContent = records.map(announce).join(" ");
  scrollToResults();
}

function modelLine({ name, description }) {
  return element("p", { class: "model-line" }, element("strong", {}, name), description ? ` ${description}` : "");
}

function announce({ best_span_str, best_entity_name, best_entity, confidence }) {
  const answer = best_span_str ?? best_entity_name ?? best_entity;
  return answer ? `Answer: ${answer}, confidence ${percent(confidence)}.` : "There is no answer in this text.";
}

/** On narrow screens the answer stands below the fields. */
function scrollToResults() {
  const top = byId("results").getBoundingClientRect().top;
  if (top > innerHeight * 0.7 || top < 0) byId("results").scrollIntoView({ block: "start" });
}

function setBusy(isBusy) {
  document.body.classList.toggle("busy", isBusy);
  byId("results").setAttribute("aria-busy", String(isBusy));
  byId("ask-label").textContent = isBusy ? "Reading…" : "Ask";
}

function setAddress(fields, isCloze) {
  const names = isCloze ? fields.names : "";
  const hash = toHash({ ...fields, names, model: byId("model").value, compare: byId("compare").value });
  byId("copy-link").hidden = hash === null;
  if (hash !== location.hash) history.pushState(null, "", hash ?? location.pathname);
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("notice").textContent = "The link is copied.";
  } catch {
    byId("notice").textContent = "Copy the link from the address of this page.";
  }
}

/** Fills the page from its address, and asks. */
function restore() {
  const state = fromHash(location.hash);
  if (!state) {
    clear();
    return;
  }
  const missing = [state.model, state.compare].filter((name) => name && !modelNamed(name));
  byId("model").value = modelNamed(state.model) ? state.model : models[0].name;
  fitToModel();
  byId("compare").value = state.compare;
  if (byId("compare").selectedIndex < 0) byId("compare").value = "";
  fillFields(state);
  byId("questions").replaceChildren();
  byId("copy-link").hidden = false;
  ask({ keepsAddress: true });
  if (missing.length) byId("notice").textContent = `The link names a model that is not loaded here: ${missing.join(", ")}.`;
}

function clear() {
  asking?.abort();
  showing?.abort();
  asking = null;
  setBusy(false);
  fillFields({});
  byId("questions").replaceChildren();
  byId("results").replaceChildren(intro);
  byId("copy-link").hidden = true;
  byId("notice").textContent = "";
  document.body.classList.remove("comparing");
}

function startAnew() {
  clear();
  if (location.hash) history.pushState(null, "", location.pathname);
}

function changeModel() {
  const kindBefore = byId("form").dataset.kind;
  fitToModel();
  // Questions for the one kind make no sense to the other.
  if (kindBefore !== chosenModel().kind) startAnew();
  else if (asking) ask();
}

function listen() {
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  document.addEventListener("keydown", (event) => {
    const asks = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    const asksFromQuestion = event.key === "Enter" && event.target === byId("question") && !event.shiftKey;
    if ((asks || asksFromQuestion) && !event.isComposing) {
      event.preventDefault();
      ask();
    }
  });
  byId("model").addEventListener("change", changeModel);
  byId("compare").addEventListener("change", () => asking && ask());
  byId("copy-link").addEventListener("click", copyLink);
  byId("clear").addEventListener("click", () => {
    startAnew();
    document.querySelector("#passages textarea").focus();
  });
  addEventListener("popstate", restore);
}

async function start() {
  fillFields({});
  try {
    ({ models, limits = {} } = await getModels());
  } catch (error) {
    showError(error);
    return;
  }
  byId("model").replaceChildren(...models.map(({ name }) => option(name, name)));
  fitToModel();
  listen();
  restore();
  document.body.classList.add("ready");
}

start();
