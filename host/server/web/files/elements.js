// SPDX-License-Identifier: Apache-2.0
//
// Elements without templates: text never becomes markup.

const kSvg = "http://www.w3.org/2000/svg";

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value !== false && value !== undefined) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children);
  return made;
}

// element("button", {type: "button", click: act}, "Text")
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(kSvg, name), attributes, children);
}

// [[term, text], ...] as a list of terms.
export function terms(pairs) {
  return pairs.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]);
}

// `columns`: [[title, row => text, isNumber], ...]
export function table(caption, columns, rows) {
  const head = columns.map(([title, , number]) => element("th", {scope: "col", class: number ? "number" : undefined}, title));
  const body = rows.map((row) => element("tr", {}, ...columns.map(([, text, number]) =>
    element("td", {class: number ? "number" : undefined}, text(row)))));
  return element("table", {"aria-label": caption}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; count >= 1024 && unit < units.length - 1; ++unit) count /= 1024;
  return `${unit === 0 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

// At least three digits, never an exponent for a large number.
export function digits(value) {
  return value >= 999.5 ? String(Math.round(value)) : value.toPrecision(3);
}

export function seconds(value) {
  if (value === 0) return "0";
  if (value < 1e-3) return `${digits(value * 1e6)} µs`;
  if (value < 1) return `${digits(value * 1e3)} ms`;
  return `${digits(value)} s`;
}
