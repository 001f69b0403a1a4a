// Weights of words, as shades and as text.

const MAX_NAMED = 4;

/** How strongly to colour a weight, from 0 to 1; small ones more than their part, so that they are seen. */
export const shade = (weight, largest) => (weight / largest) ** 0.7;

export const largestOf = (matrix) => Math.max(...matrix.map((row) => Math.max(...row)), 1e-9);

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
