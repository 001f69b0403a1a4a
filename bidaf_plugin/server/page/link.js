// What was asked, as the part of the address after "#". Browsers do not send that part to servers.

// Longer addresses get lost in mails and chats.
const MAX_LENGTH = 16_000;
const MAX_PASSAGES = 50;

/** The link to `{question, passages, names, model, compare}`, or null if it would be too long. */
export function toHash({ question, passages, names, model, compare }) {
  const parameters = new URLSearchParams({ question });
  for (const passage of passages) parameters.append("passage", passage);
  if (names) parameters.set("names", names);
  if (model) parameters.set("model", model);
  if (compare) parameters.set("compare", compare);
  const hash = `#${parameters}`;
  return hash.length <= MAX_LENGTH ? hash : null;
}

/** What `toHash` was given, or null if there is no question in it. */
export function fromHash(hash) {
  if (hash.length > MAX_LENGTH) return null;
  const parameters = new URLSearchParams(hash.slice(1));
  const question = parameters.get("question");
  const passages = parameters.getAll("passage").slice(0, MAX_PASSAGES);
  if (!question || !passages.length) return null;
  return {
    question,
    passages,
    names: parameters.get("names") ?? "",
    model: parameters.get("model") ?? "",
    compare: parameters.get("compare") ?? "",
  };
}
