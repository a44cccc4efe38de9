// SPDX-License-Identifier: Apache-2.0
//
// Pictures: lines over time, matrices as heat maps, runs of pages. All are SVG; colours come from the style sheet.
import {element, svg} from "./elements.js";

const kWidth = 340, kHeight = 90;

// A text that names the picture, and a `title` for each part that a pointer rests on.
function picture(label, height, ...parts) {
  return svg("svg", {class: "chart", viewBox: `0 0 ${kWidth} ${height}`, role: "img", "aria-label": label}, ...parts);
}

// Points of a polyline; what is no number breaks it. The largest value of all lines is the top.
export function linePaths(lines, most) {
  const count = Math.max(2, ...lines.map((line) => line.length));
  return lines.map((line) => {
    let pen = "M", path = "";
    line.forEach((value, i) => {
      if (!Number.isFinite(value)) {
        pen = "M";
        return;
      }
      path += `${pen}${(kWidth * i / (count - 1)).toFixed(1)} ${(5 + kHeight * (1 - value / most)).toFixed(1)}`;
      pen = "L";
    });
    return path;
  });
}

// `lines`: [{name, values}], `show`: value => text.
export function lineChart(label, lines, show) {
  const values = lines.flatMap((line) => line.values).filter(Number.isFinite);
  const most = Math.max(...values, 0) || 1;
  const last = lines.map(({name, values}) => {
    const value = values.findLast(Number.isFinite);
    return `${name} ${value === undefined ? "-" : show(value)}`;
  });
  const paths = linePaths(lines.map((line) => line.values), most);
  return element("figure", {},
    picture(`${label}; the last values: ${last.join(", ")}`, 100, svg("path", {d: "M0 95.5h340", class: "axis"}),
      ...paths.map((d, i) => svg("path", {d, class: `line line${i}`}))),
    element("figcaption", {}, ...lines.map((_, i) => element("span", {class: `key line${i}`}, last[i])),
      element("span", {}, `top ${show(most)}`)));
}

// How dark a value is: 0 to 1, by its logarithm, so that small flows show beside large ones.
export function shade(value, most) {
  return value > 0 ? 0.15 + 0.85 * Math.log1p(value) / Math.log1p(most) : 0;
}

// `matrix`: [destination][source]. Columns send, rows receive.
export function heatMap(label, names, matrix, show) {
  const most = Math.max(1, ...matrix.flat());
  const left = 90, size = Math.min(44, (kWidth - left) / names.length), top = 18;
  const cells = matrix.flatMap((row, to) => row.map((value, from) =>
    svg("rect", {x: left + from * size, y: top + to * size, width: size - 1, height: size - 1, class: value > 0 ? "hot" : "cold",
      "fill-opacity": value > 0 ? shade(value, most).toFixed(2) : 1}, svg("title", {}, `${names[from]} to ${names[to]}: ${show(value)}`))));
  const rows = names.map((name, i) => svg("text", {x: left - 5, y: top + (i + 0.6) * size, "text-anchor": "end"}, name));
  const columns = names.map((name, i) => svg("text", {x: left + (i + 0.5) * size, y: 12, "text-anchor": "middle"}, name));
  return picture(label, top + size * names.length + 2, ...rows, ...columns, ...cells);
}

// A square per page. `runs`: [[unit, first page, number], ...], `units`: their names.
export function pageMap(label, runs, units) {
  const side = 10, columns = kWidth / side;
  const pages = runs.flatMap(([unit, first, count]) => Array.from({length: count}, (_, i) => [unit, first + i]));
  const squares = pages.map(([unit, page], i) =>
    svg("rect", {x: i % columns * side, y: Math.floor(i / columns) * side, width: side - 1, height: side - 1, class: `unit${unit % 8}`},
      svg("title", {}, `block ${i}: page ${page} of ${units[unit]}`)));
  return picture(label, Math.max(1, Math.ceil(pages.length / columns)) * side, ...squares);
}
