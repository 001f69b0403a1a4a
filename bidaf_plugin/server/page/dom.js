// Making elements. Texts become text nodes, so that nothing in them is ever read as HTML.

export const byId = (id) => document.getElementById(id);

/** A new element. `attributes` that are true stand without a value; those that are false are left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export function button(text, onClick, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", onClick);
  return made;
}

function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
}

/** 0.623 as "62 %", with a decimal where it tells something. */
export function percent(probability) {
  const value = 100 * probability;
  if (value > 0 && value < 0.1) return "< 0.1\u202f%";
  if (value > 99 && value < 99.95) return `${Math.min(value, 99.9).toFixed(1)}\u202f%`;
  return `${value.toFixed(value < 10 && value > 0 ? 1 : 0)}\u202f%`;
}
