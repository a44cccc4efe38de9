// SPDX-License-Identifier: Apache-2.0
//
// Who sends how much to whom: host and attention units, from the counters of the units.
import {heatMap} from "./charts.js";
import {bytes, element, table} from "./elements.js";

// {names, matrix: [destination][source]}, with the host first. Compute units read weights where they lie, so they send nothing.
export function trafficOf(devices) {
  const units = devices.filter((device) => device.role === "attention");
  const names = ["host", ...units.map((device) => device.device)];
  const matrix = names.map(() => names.map(() => 0));
  units.forEach((device, i) => {
    matrix[i + 1][0] = device.bytes_to_device;
    matrix[0][i + 1] = device.bytes_from_device;
  });
  return {names, matrix};
}

export function showTraffic(place, devices) {
  const {names, matrix} = trafficOf(devices);
  const flows = matrix.flatMap((row, to) => row.map((value, from) => ({from: names[from], to: names[to], value})))
    .filter((flow) => flow.value > 0).sort((a, b) => b.value - a.value);
  place.replaceChildren(
    element("div", {class: "card"}, heatMap("Bytes between host and units; columns send, rows receive", names, matrix, bytes),
      element("p", {class: "faint"}, "Columns send, rows receive. The scale is logarithmic.")),
    element("div", {class: "card"}, flows.length === 0 ? element("p", {}, "Nothing has been sent yet.") : table("Flows, the largest first", [
      ["from", (row) => row.from], ["to", (row) => row.to], ["bytes", (row) => bytes(row.value), true]], flows)));
}
