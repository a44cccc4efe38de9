// SPDX-License-Identifier: Apache-2.0
//
// The devices of /status as cards.
import {bytes, element, seconds, terms} from "./elements.js";

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
