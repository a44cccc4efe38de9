// SPDX-License-Identifier: Apache-2.0
//
// The devices of /status as cards.
import {bytes, element, seconds, terms} from "./elements.js";

// What a device reads per second while it works, and the share of what its memory can give; both undefined where unknown.
export function readPace(readBytes, device) {
  const pace = device.seconds > 0 ? readBytes / device.seconds : undefined;
  const roof = device.memory_bandwidth_bytes_per_s;
  return {pace, share: pace !== undefined && roof > 0 ? pace / roof : undefined};
}

// A cache may give more than 100 %.
const percent = (share) => share >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2));

export function paceText(readBytes, device) {
  const {pace, share} = readPace(readBytes, device);
  if (pace === undefined) return "-";
  const roof = share === undefined ? "" : `, ${percent(share)} % of the memory's ${bytes(device.memory_bandwidth_bytes_per_s)}/s`;
  return `${bytes(pace)}/s${roof}`;
}

const readBytes = (device) => device.role === "attention" ? device.kv_bytes_read : device.weight_bytes_read;

// A bar with a name; full is the roof.
function bar(label, value, max) {
  return element("label", {class: "faint"}, label, element("progress", {max, value}));
}

function computeTerms(device) {
  return [
    ["operations", String(device.launches)],
    ["weights read", bytes(device.weight_bytes_read)],
    ["read while busy", paceText(readBytes(device), device)],
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
    ["read while busy", paceText(readBytes(device), device)],
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
    const {share} = readPace(readBytes(device), device);
    if (share !== undefined) card.append(bar("Bandwidth against the memory's", Math.min(share, 1), 1));
    if (device.role === "attention") card.append(bar("KV pages in use", device.pages_used, Math.max(device.pages_total, 1)));
    return card;
  }));
}
