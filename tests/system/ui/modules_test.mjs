// SPDX-License-Identifier: Apache-2.0
//
// The page's modules without a browser; ui_test.py copies them beside this file.
import assert from "node:assert/strict";
import test from "node:test";

import {EventLines} from "./api.js";
import {linePaths, shade} from "./charts.js";
import {Chat, requestOf} from "./chat.js";
import {Conversations} from "./conversations.js";
import {bytes, seconds} from "./elements.js";
import {histograms, quantile} from "./metrics.js";
import {isAlarming, showConfiguration} from "./operator.js";
import {pageText} from "./requests.js";
import {isLost, paceText, readPace} from "./status.js";
import {StepHistory} from "./steps.js";
import {trafficOf} from "./traffic.js";
import {matrixOfRankZero, otherSeconds} from "./training.js";

class Storage {
  constructor(most = Infinity) {
    this.kept = {};
    this.most = most;
  }
  getItem(name) {
    return this.kept[name] ?? null;
  }
  setItem(name, text) {
    if (text.length > this.most) throw new Error("full");
    this.kept[name] = text;
  }
}

// What of an element the chat uses; counts the letters that are written into elements of its name.
class Element {
  static written = {};
  children = [];
  listeners = {};
  value = "";
  classList = {toggle() {}};
  constructor(name) {
    this.name = name;
    Element.written[name] ??= 0;
  }
  append(...parts) {
    this.children.push(...parts);
    for (const part of parts) Element.written[this.name] += typeof part === "string" ? part.length : 0;
  }
  replaceChildren(...parts) {
    this.children = [];
    this.append(...parts);
  }
  set textContent(text) {
    this.replaceChildren(text);
  }
  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }
  get lastElementChild() {
    return this.children.filter((child) => child instanceof Element).at(-1);
  }
  addEventListener(name, act) {
    this.listeners[name] = act;
  }
  setAttribute() {}
  querySelectorAll() {
    return [];
  }
}

test("a long answer is shown as it comes, each piece once", async () => {
  const places = {};
  globalThis.localStorage = new Storage();
  globalThis.document = {
    getElementById: (id) => places[id] ??= new Element("place"),
    createElement: (name) => new Element(name),
  };
  const event = (choice, rest) => `data: ${JSON.stringify({choices: [choice], ...rest})}\n\n`;
  const events = Array.from({length: 100}, () => event({delta: {content: "ten words "}}));
  events.push(event({finish_reason: "stop"}, {usage: {completion_tokens: 100}}), "data: [DONE]\n\n");
  globalThis.fetch = async () => new Response(events.join(""));
  new Chat();
  places.prompt.value = "How long?";
  places.composer.listeners.submit({preventDefault() {}});
  while (places.send.disabled) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(places.messages.textContent, "YouHow long?Model" + "ten words ".repeat(100));
  assert.ok(Element.written.span < 3000, `${Element.written.span} letters for an answer of 1000`);
});

test("events are whole however they arrive", () => {
  const events = new EventLines();
  assert.deepEqual(events.push('data: {"a":'), []);
  assert.deepEqual(events.push('1}\n\n: comment\nda'), ['{"a":1}']);
  assert.deepEqual(events.push("ta: [DONE]\r\n"), ["[DONE]"]);
});

test("a request has the numbers that are set and the system message in front", () => {
  const request = requestOf([{role: "user", content: "hi", kept: 1}],
    {temperature: "0", top_k: "", seed: "x", system: "be brief"});
  assert.deepEqual(request, {messages: [{role: "system", content: "be brief"}, {role: "user", content: "hi"}], temperature: 0});
});

test("conversations come back from the storage", () => {
  const storage = new Storage();
  const first = new Conversations(storage);
  first.say("user", "A question that is longer than a title may be, by far");
  first.say("assistant", "yes");
  first.save();
  const second = new Conversations(storage);
  assert.equal(second.current.title, "A question that is longer than a title m");
  assert.deepEqual(second.current.messages.map(({content}) => content).at(-1), "yes");
  assert.equal(second.takeBackAnswer(), true);
  assert.equal(second.current.messages.length, 1);
  second.remove(second.current.id);
  assert.equal(second.list.length, 1);
  assert.equal(second.takeBackAnswer(), false);
});

test("a question is kept before its answer comes", () => {
  const storage = new Storage();
  new Conversations(storage).say("user", "kept?");
  assert.deepEqual(new Conversations(storage).current.messages, [{role: "user", content: "kept?"}]);
});

test("a damaged or a full storage loses no more than it must", () => {
  const damaged = new Storage();
  damaged.kept["tandem.conversations"] = "[{";
  assert.equal(new Conversations(damaged).list.length, 1);
  const full = new Storage(400);
  const conversations = new Conversations(full);
  conversations.say("user", "x".repeat(350));
  conversations.add();
  conversations.say("user", "newest");
  conversations.save();
  assert.equal(new Conversations(full).current.messages[0].content, "newest");
});

test("histograms have the count of each bucket alone", () => {
  const {a_seconds: one} = histograms('# TYPE a_seconds histogram\na_seconds_count 4\na_seconds_sum 2.5\n' +
    'a_seconds_bucket{le="0.1"} 1\na_seconds_bucket{le="1"} 3\na_seconds_bucket{le="+Inf"} 4\nother_count 7\n');
  assert.deepEqual(one, {buckets: [{upTo: 0.1, count: 1}, {upTo: 1, count: 2}, {upTo: Infinity, count: 1}], sum: 2.5, count: 4});
  assert.equal(quantile(one, 0.5), 1);
  assert.equal(quantile(one, 0.99), Infinity);
  assert.equal(quantile({buckets: [{upTo: 1, count: 0}], count: 0}, 0.5), undefined);
});

test("what a device reads is compared with what its memory gives, where that is known", () => {
  const device = {seconds: 2, memory_bandwidth_bytes_per_s: 4096};
  assert.deepEqual(readPace(2048, device), {pace: 1024, share: 0.25});
  assert.equal(paceText(2048, device), "1.0 KiB/s, 25 % of the memory's 4.0 KiB/s");
  assert.equal(paceText(10_240, device), "5.0 KiB/s, 125 % of the memory's 4.0 KiB/s");
  assert.equal(paceText(8192, device), "4.0 KiB/s, 100 % of the memory's 4.0 KiB/s");
  assert.equal(paceText(8, device), "4 B/s, 0.098 % of the memory's 4.0 KiB/s");
  assert.equal(paceText(2048, {...device, memory_bandwidth_bytes_per_s: null}), "1.0 KiB/s");
  assert.equal(paceText(0, {...device, seconds: 0}), "-");
});

test("a lost device is told apart", () => {
  assert.equal(isLost({role: "attention", alive: false}, {}), true);
  assert.equal(isLost({role: "attention", alive: true}, {}), false);
  assert.equal(isLost({role: "compute", device: "cuda:0"}, {lost_compute: "cuda:0"}), true);
  assert.equal(isLost({role: "compute", device: "cpu"}, {lost_compute: ""}), false);
});

test("steps are kept once, and a daemon that starts anew begins a new history", () => {
  const history = new StepHistory();
  const status = (steps) => ({steps, plan: {mode: "one", rows: 2, predicted_ms: 1, measured_ms: 2}});
  history.add({steps: 0, plan: null});
  [1, 1, 4].forEach((steps) => history.add(status(steps)));
  assert.deepEqual(history.steps.map(({step}) => step), [1, 4]);
  history.add(status(2));
  assert.deepEqual(history.steps.map(({step}) => step), [2]);
  for (let i = 3; i < 400; ++i) history.add(status(i));
  assert.equal(history.steps.length, 150);
});

test("a line breaks where there is no value", () => {
  assert.deepEqual(linePaths([[0, 2, null, 1, 2]], 2), ["M0.0 95.0L85.0 5.0M255.0 50.0L340.0 5.0"]);
});

test("shades grow with the value, and nothing has none", () => {
  assert.equal(shade(0, 100), 0);
  assert.equal(shade(100, 100), 1);
  assert.ok(shade(1, 1e9) > 0.15 && shade(1, 1e9) < shade(1e6, 1e9));
});

test("traffic has a row per receiver", () => {
  const devices = [{device: "cpu", role: "compute"}, {device: "xrt:0", role: "attention", bytes_to_device: 5, bytes_from_device: 7}];
  assert.deepEqual(trafficOf(devices), {names: ["host", "xrt:0"], matrix: [[0, 7], [5, 0]]});
});

test("pages are counted by unit", () => {
  assert.equal(pageText([[0, 3, 2], [1, 0, 1], [0, 9, 4]], ["a", "b"], 5), "KV pages: 6 on a, 1 on b, 5 more");
  assert.equal(pageText([], ["a"]), "no pages");
});

test("lines of the log that alarm are told apart in both formats", () => {
  assert.ok(isAlarming("2026-05-04T03:02:01.123+00:00 warning attention unit xrt:0 is lost"));
  assert.ok(isAlarming('{"time": "x", "level": "error", "message": "m"}'));
  assert.ok(!isAlarming("2026-05-04T03:02:01.123+00:00 info no error here"));
});

test("figures have units", () => {
  assert.equal(bytes(512), "512 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(seconds(0.0123), "12.3 ms");
  assert.equal(seconds(0), "0");
  assert.equal(seconds(4321.4), "4321 s");
  assert.equal(seconds(0.9999), "1000 ms");
});

test("a training's matrix holds what rank 0 sent and received", () => {
  const peers = [{bytes_sent: 0, bytes_received: 0}, {bytes_sent: 5, bytes_received: 7}, {bytes_sent: 6, bytes_received: 8}];
  assert.deepEqual(matrixOfRankZero(peers), [[0, 7, 8], [5, 0, 0], [6, 0, 0]]);
});

test("what no phase has is the rest of a step", () => {
  const points = {whole: [10, 1], backward: [4, 1], reduce: [3, 1], update: [2, 1]};
  assert.deepEqual(otherSeconds(points), [1, 0]);
});

test("the options of a daemon are asked for once", async () => {
  let asked = 0;
  globalThis.fetch = async () => ({ok: true, json: async () => (++asked, {host: {value: "127.0.0.1", set: false}})});
  const made = () => ({append() {}, setAttribute() {}});
  globalThis.document = {createElement: made};
  const access = {admin: true}, place = {replaceChildren() {}};
  await showConfiguration(place, access);
  await showConfiguration(place, access);
  assert.equal(asked, 1);
  delete globalThis.document;
});
