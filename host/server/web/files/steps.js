// SPDX-License-Identifier: Apache-2.0
//
// The steps: how each runs, what it was predicted to take and what it took. The page sees the last step whenever it asks.
import {lineChart} from "./charts.js";
import {digits, element, table} from "./elements.js";

const kMostKept = 150;

const milliseconds = (value) => value === null || value === undefined ? "-" : `${digits(value)} ms`;

export class StepHistory {
  constructor() {
    this.steps = [];  // {step, mode, rows, predicted, measured}, the oldest first
  }

  // Keeps the last step of a /status, once.
  add({plan, steps}) {
    if (!plan || this.steps.at(-1)?.step === steps) return;
    if (this.steps.at(-1)?.step > steps) this.steps = [];  // the daemon has started anew
    this.steps.push({step: steps, mode: plan.mode, rows: plan.rows, predicted: plan.predicted_ms, measured: plan.measured_ms});
    if (this.steps.length > kMostKept) this.steps.shift();
  }
}

export function showPlan(place, plan) {
  if (plan === null) {
    place.replaceChildren(element("p", {}, "No step has run yet, or nothing is predicted here."));
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

export function showSteps(place, history) {
  if (history.steps.length === 0) {
    place.replaceChildren(element("p", {}, "None."));
    return;
  }
  place.replaceChildren(
    element("div", {class: "card"}, lineChart("Time of steps", [
      {name: "predicted", values: history.steps.map((step) => step.predicted)},
      {name: "measured", values: history.steps.map((step) => step.measured)}], milliseconds)),
    element("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Steps that were seen"}, table("Steps that were seen", [
      ["step", (row) => String(row.step), true], ["mode", (row) => row.mode], ["rows", (row) => String(row.rows), true],
      ["predicted", (row) => milliseconds(row.predicted), true],
      ["measured", (row) => milliseconds(row.measured), true]], history.steps.slice(-20).reverse())));
}
