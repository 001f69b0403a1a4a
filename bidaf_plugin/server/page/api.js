// The server's JSON API.

/** What the server says is wrong, in one sentence. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export const getModels = () => call("api/models");

/** The record of an answer. `asked` has `question`, `passages` and, for cloze models, `names`. */
export function getAnswer(model, asked, nBest, signal) {
  const body = { model: model.name, question: asked.question };
  if (asked.passages.length > 1) body.passages = asked.passages;
  else body.passage = asked.passages[0];
  if (model.kind === "cloze") {
    if (asked.names) body.names = asked.names;
  } else {
    body.n_best = nBest;
  }
  return call("api/answer", body, signal);
}

export function getAttention(model, question, passage, signal) {
  return call("api/attention", { model: model.name, question, passage }, signal);
}

async function call(path, body, signal) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("The server cannot be reached. Is it still running?", 0);
  }
  const reply = await response.json().catch(() => ({}));
  if (signal?.aborted) throw signal.reason;
  if (response.ok) return reply;
  throw new ApiError(sentence(reply.error, response), response.status);
}

function sentence(error, response) {
  const text = typeof error === "string" && error ? error : `The server answered ${response.status}`;
  const wait = Number(response.headers.get("Retry-After"));
  const whole = text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
  return wait ? `${whole} Try again in ${wait} s.` : whole;
}
