// SPDX-License-Identifier: Apache-2.0
//
// The requests: totals, those that wait or run with the pages of their KV, and who sent them.
import {pageMap} from "./charts.js";
import {element, seconds, table, terms} from "./elements.js";

const kTotals = [
  ["running", "running"], ["waiting", "waiting"], ["steps", "steps"], ["prompt_tokens", "prompt tokens"],
  ["cached_tokens", "of them from the cache"], ["generated_tokens", "generated tokens"], ["draft_tokens", "guessed tokens"],
  ["accepted_draft_tokens", "of them right"], ["preemptions", "preemptions"], ["parked_sequences", "parked sequences"],
  ["rebuilt_sequences", "sequences computed anew"], ["moved_pages", "KV pages moved"],
];

export function showTotals(place, status) {
  place.replaceChildren(...kTotals.map(([name, title]) => element("div", {}, ...terms([[title, status[name].toLocaleString("en")]]))));
}

// "8 pages on xrt:0, 4 on cpu"
export function pageText(runs, units, leftOut = 0) {
  const counts = new Map();
  for (const [unit, , count] of runs) counts.set(unit, (counts.get(unit) ?? 0) + count);
  const parts = [...counts].map(([unit, count]) => `${count} on ${units[unit]}`);
  if (leftOut > 0) parts.push(`${leftOut} more`);
  return parts.length === 0 ? "no pages" : `KV pages: ${parts.join(", ")}`;
}

function sequenceCard(each, units) {
  const text = pageText(each.pages, units, each.pages_left_out);
  return element("div", {class: "card"}, element("h4", {}, `Request ${each.id}`, element("span", {class: "tag"}, each.state)),
    element("dl", {}, ...terms([
      ["prompt", `${each.prompt_tokens} tokens, ${each.cached_tokens} cached`],
      ["computed", `${each.computed_tokens} tokens`],
      ["generated", `${each.generated_tokens} tokens`],
      ["in the queue", seconds(each.queued_seconds)],
      ["first token after", each.first_token_seconds === null ? "-" : seconds(each.first_token_seconds)],
    ])), element("p", {class: "faint"}, text), ...(each.pages.length > 0 ? [pageMap(text, each.pages, units)] : []));
}

// Running ones come first; a page with more is of no use.
const kMostShown = 48;

// As /status/requests has them.
export function showSequences(place, {units, requests}) {
  const shown = requests.slice(0, kMostShown);
  if (requests.length === 0) return place.replaceChildren(element("p", {}, "None."));
  const names = units.map((name, i) => element("span", {class: `key unit${i % 8}`}, name));
  place.replaceChildren(element("p", {class: "faint"}, ...names, requests.length > shown.length ? `${shown.length} of ${requests.length}` : ""),
    element("div", {class: "cards"}, ...shown.map((each) => sequenceCard(each, units))));
}

export const kNotAdmin = "Operators see this: with a key that has the role admin, or without keys where " +
  "`tandem serve --admin loopback` opens the operator's routes to this machine.";

// As /admin/requests has them; operators alone get them.
export function showClients(place, clients) {
  if (!clients) return place.replaceChildren(element("p", {}, kNotAdmin));
  const {requests} = clients;
  place.replaceChildren(requests.length === 0 ? element("p", {}, "None.") : table("Clients of the requests in progress", [
    ["id", (row) => row.id], ["key", (row) => row.key ?? "-"], ["client", (row) => row.client], ["route", (row) => row.route],
    ["time", (row) => seconds(row.seconds), true], ["choices", (row) => String(row.choices), true],
    ["prompt tokens", (row) => String(row.prompt_tokens), true],
    ["generated", (row) => String(row.completion_tokens), true]], requests));
}
