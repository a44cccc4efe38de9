// SPDX-License-Identifier: Apache-2.0
//
// The page of a training run: curves, phases, ranks. Its data are those of /status, which rank 0 answers.
import {getJson} from "./api.js";
import {heatMap, lineChart} from "./charts.js";
import {bytes, element, seconds, table, terms} from "./elements.js";
import {keepTheme} from "./theme.js";

const kPauseMs = 2000;
const kPhases = ["backward", "reduce", "update"];
const at = (id) => document.getElementById(id);

const short = (value) => Number.isFinite(value) ? value.toPrecision(4) : "-";
const share = (value) => Number.isFinite(value) ? `${(100 * value).toPrecision(3)} %` : "-";

function say(text, isBad) {
  const state = at("state");
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("bad", isBad);
}

// What rank 0 sent and received, as [destination][source]; what others sent to each other it does not know.
export function matrixOfRankZero(peers) {
  return peers.map((_, to) => peers.map((_, from) => {
    if (from === 0) return peers[to].bytes_sent;
    return to === 0 ? peers[from].bytes_received : 0;
  }));
}

// Seconds of a step that no phase has.
export function otherSeconds(points) {
  return points.whole.map((whole, i) => Math.max(0, whole - kPhases.reduce((sum, phase) => sum + points[phase][i], 0)));
}

function showFigures(run) {
  const {points} = run;
  at("progress").max = Math.max(run.steps, 1);
  at("progress").value = run.step;
  at("figures").replaceChildren(...terms([
    ["step", `${run.step} of ${run.steps}`],
    ["loss", short(points.loss.at(-1))],
    ["tokens/s", short(points.tokens_per_second.at(-1))],
    ["density sent", share(points.density.at(-1))],
    ["gradient norm", short(run.gradient_norm)],
    ["rate", short(run.rate)],
    ["ranks", String(run.ranks)]]));
}

function chart(title, lines, show) {
  return element("div", {class: "card"}, element("h3", {}, title), lineChart(title, lines, show));
}

function showCurves(run) {
  const {points} = run;
  const cards = [chart("Loss", [{name: "loss", values: points.loss}], short),
    chart("Throughput", [{name: "tokens/s", values: points.tokens_per_second}], short),
    chart("Density of what is sent", [{name: "density", values: points.density}], share)];
  if (run.evaluations.length > 0) {
    cards.push(chart("Held-out loss", [{name: "loss", values: run.evaluations.map((each) => each.loss)}], short));
  }
  at("curves").replaceChildren(...cards);
}

// A table that is wider than the window scrolls by itself.
function wideTable(caption, columns, rows) {
  return element("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption}, table(caption, columns, rows));
}

function showPhases({points}) {
  const phases = {...points, other: otherSeconds(points)};
  const lines = [...kPhases, "other"].map((name) => ({name, values: phases[name]}));
  at("phases").replaceChildren(chart("Seconds per step", lines, seconds),
    element("div", {class: "card"}, wideTable("Last step by phase", [
      ["phase", (row) => row.name], ["time", (row) => seconds(row.values.at(-1) ?? 0), true],
      ["share", (row) => share((row.values.at(-1) ?? 0) / (points.whole.at(-1) || 1)), true]], lines)));
}

function showRanks({peers}) {
  if (peers.length < 2) {
    at("ranks").replaceChildren(element("p", {}, "One rank: nothing is sent."));
    return;
  }
  const names = peers.map((_, rank) => `rank ${rank}`);
  const rows = peers.map((peer, rank) => ({...peer, rank})).slice(1);
  at("ranks").replaceChildren(
    element("div", {class: "card"}, heatMap("Bytes that rank 0 sent and received; columns send, rows receive", names,
      matrixOfRankZero(peers), bytes), element("p", {class: "faint"}, "Columns send, rows receive. Rank 0 counts its own messages; " +
      "tandem trace-comm draws those of all ranks.")),
    element("div", {class: "card"}, wideTable("Messages of rank 0", [
      ["with rank", (row) => String(row.rank), true], ["sent", (row) => bytes(row.bytes_sent), true],
      ["messages", (row) => String(row.messages_sent), true], ["received", (row) => bytes(row.bytes_received), true],
      ["messages", (row) => String(row.messages_received), true]], rows)));
}

function show(run) {
  at("model").textContent = run.title;
  say(run.state === "ended" ? `ended after step ${run.step}` : `training, step ${run.step} of ${run.steps}`, false);
  for (const part of [showFigures, showCurves, showPhases, showRanks]) part(run);
  at("main").removeAttribute("aria-busy");
}

// A hidden page asks for nothing. The last figures stay when the run has ended.
async function watch() {
  for (;;) {
    if (!document.hidden) {
      try {
        show(await getJson("/status"));
      } catch (error) {
        say(error.status === undefined ? "the training has ended" : error.message, true);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, kPauseMs));
  }
}

if (typeof document !== "undefined") {
  keepTheme(at("theme"));
  watch();
}
