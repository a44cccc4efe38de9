// SPDX-License-Identifier: Apache-2.0
//
// What operators alone see: the log, the configuration, what emulated cards report.
import {getJson} from "./api.js";
import {element, table} from "./elements.js";
import {kNotAdmin} from "./requests.js";

// Lines that warn or tell an error, in both formats of the log.
export function isAlarming(line) {
  return /^\S+ (warning|error|critical) |"level": ?"(warn|warning|error|critical)"/.test(line);
}

export async function showLog(place, access, onlyAlarms) {
  if (!access.admin) return place.replaceChildren(element("p", {}, kNotAdmin));
  const {lines} = await getJson("/admin/log");
  const shown = onlyAlarms ? lines.filter(isAlarming) : lines;
  place.replaceChildren(...(shown.length === 0 ? [element("p", {}, "None.")] :
    shown.map((line) => element("p", {class: isAlarming(line) ? "bad" : undefined}, line))));
}

// The options of a daemon stay: they are asked for once, until `access` is another one.
export async function showConfiguration(place, access) {
  if (!access.admin) return place.replaceChildren(element("p", {}, kNotAdmin));
  access.options ??= await getJson("/admin/config");
  const rows = Object.entries(access.options).map(([name, {value, set}]) => ({name, value, set}));
  rows.sort((a, b) => b.set - a.set);
  place.replaceChildren(table("Options of tandem serve", [
    ["option", (row) => `--${row.name}`], ["value", (row) => row.value || "-"], ["from", (row) => row.set ? "set" : "default"]], rows));
}

export async function showReports(place, access) {
  if (!access.admin) return place.replaceChildren(element("p", {}, kNotAdmin));
  const {file, reports} = await getJson("/admin/card-reports");
  if (file === null) return place.replaceChildren(element("p", {}, "Emulated cards report where TANDEM_CARD_REPORT names a file."));
  if (reports.length === 0) return place.replaceChildren(element("p", {}, "Nothing is reported."));
  place.replaceChildren(...reports.map(({kind, severity, ...rest}) => element("div", {class: severity === "error" ? "card lost" : "card"},
    element("h4", {class: severity === "error" ? "bad" : undefined}, `${kind ?? "finding"} (${severity ?? "-"})`),
    element("p", {class: "code"}, JSON.stringify(rest, null, 1)))));
}
