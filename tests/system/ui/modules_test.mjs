// SPDX-License-Identifier: Apache-2.0
//
// The page's modules without a browser; ui_test.py copies them beside this file.
import assert from "node:assert/strict";
import test from "node:test";

import {EventLines} from "./api.js";
import {requestOf} from "./chat.js";
import {Conversations} from "./conversations.js";
import {bytes, seconds} from "./elements.js";
import {histograms, quantile} from "./metrics.js";
import {isLost} from "./status.js";

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

test("a lost device is told apart", () => {
  assert.equal(isLost({role: "attention", alive: false}, {}), true);
  assert.equal(isLost({role: "attention", alive: true}, {}), false);
  assert.equal(isLost({role: "compute", device: "cuda:0"}, {lost_compute: "cuda:0"}), true);
  assert.equal(isLost({role: "compute", device: "cpu"}, {lost_compute: ""}), false);
});

test("figures have units", () => {
  assert.equal(bytes(512), "512 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(seconds(0.0123), "12.3 ms");
  assert.equal(seconds(0), "0");
});
