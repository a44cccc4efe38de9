// SPDX-License-Identifier: Apache-2.0
//
// /status and /admin/requests as cards and tables.
import {ApiError, getJson} from "./api.js";
import {bytes, element, seconds, table, terms} from "./elements.js";

function computeTerms(device) {
  return [
    ["operations", String(device.launches)],
    ["weights read", bytes(device.weight_bytes_read)],
    ["read while busy", device.seconds > 0 ? `${bytes(device.weight_bytes_read / device.seconds)}/s` : "-"],
    ["busy", seconds(device.seconds)],
  ];
}

function attentionTerms(device) {
  return [
    ["state", device.alive ? "answers" : "lost"],
    ["losses", String(device.losses)],
    ["launches", String(device.launches)],
    ["to the device", bytes(device.bytes_to_device)],
    ["from the device", bytes(device.bytes_from_device)],
    ["KV read there", bytes(device.kv_bytes_read)],
    ["read while busy", device.seconds > 0 ? `${bytes(device.kv_bytes_read / device.seconds)}/s` : "-"],
    ["busy", seconds(device.seconds)],
    ["KV pages", `${device.pages_used} used, ${device.pages_cached} cached, of ${device.pages_total}`],
  ];
}

// Whether the device is gone: an attention unit that is not alive, or the compute device that the status names.
export function isLost(device, status) {
  return device.role === "attention" ? device.alive === false : device.device === status.lost_compute;
}

export function showDevices(place, status) {
  place.replaceChildren(...status.devices.map((device) => {
    const lost = isLost(device, status);
    const card = element("div", {class: lost ? "card lost" : "card"},
      element("h3", {class: lost ? "bad" : undefined}, `${device.device} - ${device.role}${lost ? ", lost" : ""}`),
      element("dl", {}, ...terms(device.role === "attention" ? attentionTerms(device) : computeTerms(device))));
    if (device.role === "attention") {
      card.append(element("progress", {max: Math.max(device.pages_total, 1), value: device.pages_used,
        "aria-label": `KV pages in use of ${device.device}`}));
    }
    return card;
  }));
}

const milliseconds = (value) => value === null || value === undefined ? "-" : `${value.toPrecision(3)} ms`;

export function showPlan(place, plan) {
  if (plan === null) {
    place.replaceChildren(element("p", {}, "No step has run yet."));
    return;
  }
  const whole = {part: "whole step", device: null, predicted_ms: plan.predicted_ms, measured_ms: plan.measured_ms};
  place.replaceChildren(
    element("p", {}, `Mode ${plan.mode}, ${plan.rows} rows, ${plan.sub_batches} sub-batches` +
      (plan.target_itl_ms === null ? "" : `, target ${milliseconds(plan.target_itl_ms)}${plan.target_missed ? " is missed" : ""}`)),
    table("Parts of the last step", [
      ["part", (row) => row.part], ["device", (row) => row.device ?? "-"],
      ["predicted", (row) => milliseconds(row.predicted_ms), true],
      ["measured", (row) => milliseconds(row.measured_ms), true]], [whole, ...plan.parts]));
}

const kTotals = [
  ["running", "running"], ["waiting", "waiting"], ["steps", "steps"], ["prompt_tokens", "prompt tokens"],
  ["cached_tokens", "of them from the cache"], ["generated_tokens", "generated tokens"], ["draft_tokens", "guessed tokens"],
  ["accepted_draft_tokens", "of them right"], ["preemptions", "preemptions"], ["parked_sequences", "parked sequences"],
  ["rebuilt_sequences", "sequences computed anew"], ["moved_pages", "KV pages moved"],
];

export function showTotals(place, status) {
  place.replaceChildren(...terms(kTotals.map(([name, title]) => [title, String(status[name])])));
}

// Operators see the requests one by one.
export async function showRequests(place) {
  try {
    const {requests} = await getJson("/admin/requests");
    place.replaceChildren(requests.length === 0 ? element("p", {}, "None.") : table("Requests in progress", [
      ["id", (row) => row.id], ["key", (row) => row.key ?? "-"], ["client", (row) => row.client], ["route", (row) => row.route],
      ["time", (row) => seconds(row.seconds), true], ["choices", (row) => String(row.choices), true],
      ["prompt tokens", (row) => String(row.prompt_tokens), true],
      ["generated", (row) => String(row.completion_tokens), true]], requests));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    place.replaceChildren(element("p", {}, error.message));
  }
}
