// The words with the largest weights, as text.

const MAX_NAMED = 4;

/** "mill 0.62, built 0.21": the strongest first, and a word that stands in several places once. */
export function strongestWords(weights, words, digits = 2) {
  const places = Array.from(weights.keys()).sort((one, other) => weights[other] - weights[one]);
  const placeOf = new Map();
  for (const place of places) {
    if (placeOf.size === MAX_NAMED) break;
    if (!placeOf.has(words[place])) placeOf.set(words[place], place);
  }
  return Array.from(placeOf, ([word, place]) => `${word} ${weights[place].toFixed(digits)}`).join(", ");
}
