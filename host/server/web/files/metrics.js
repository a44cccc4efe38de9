// SPDX-License-Identifier: Apache-2.0
//
// Prometheus text, and its histograms as pictures.
import {element, seconds, svg, terms} from "./elements.js";

const kShown = [
  ["tandem_time_to_first_token_seconds", "Time to first token"],
  ["tandem_inter_token_seconds", "Time between tokens"],
  ["tandem_queue_seconds", "Wait in the queue"],
  ["tandem_prefill_seconds", "Prefill"],
  ["tandem_decode_seconds", "Decode"],
];

// {name: {buckets: [{upTo, count}], sum, count}}, with the count of each bucket alone.
export function histograms(text) {
  const found = {};
  const of = (name) => (found[name] ??= {buckets: [], sum: 0, count: 0});
  for (const line of text.split("\n")) {
    const bucket = line.match(/^(\w+)_bucket\{le="([^"]+)"\} (\S+)/);
    const total = line.match(/^(\w+)_(sum|count) (\S+)/);
    if (bucket) {
      of(bucket[1]).buckets.push({upTo: bucket[2] === "+Inf" ? Infinity : Number(bucket[2]), count: Number(bucket[3])});
    } else if (total) {
      of(total[1])[total[2]] = Number(total[3]);
    }
  }
  for (const name of Object.keys(found)) {
    if (found[name].buckets.length === 0) delete found[name];
  }
  for (const {buckets} of Object.values(found)) {
    for (let i = buckets.length - 1; i > 0; --i) buckets[i].count -= buckets[i - 1].count;
  }
  return found;
}

// The upper bound of the bucket that holds this share of the observations; nothing without any.
export function quantile({buckets, count}, share) {
  let seen = 0;
  for (const bucket of buckets) {
    seen += bucket.count;
    if (count > 0 && seen >= share * count) return bucket.upTo;
  }
  return undefined;
}

function bound(value, bounds) {
  if (value === undefined) return "-";
  return value === Infinity ? `more than ${seconds(bounds.at(-2).upTo)}` : `at most ${seconds(value)}`;
}

function chart(title, {buckets}) {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const width = 340 / buckets.length;
  const bars = buckets.map((bucket, i) => {
    const height = 90 * bucket.count / most;
    const limit = bucket.upTo === Infinity ? "beyond" : `up to ${seconds(bucket.upTo)}`;
    return svg("rect", {x: (i * width + 1).toFixed(1), y: (95 - height).toFixed(1), width: (width - 2).toFixed(1), height: height.toFixed(1)},
      svg("title", {}, `${limit}: ${bucket.count}`));
  });
  const marks = buckets.flatMap((bucket, i) => i % 4 !== 3 || bucket.upTo === Infinity ? [] :
    [svg("text", {x: ((i + 1) * width).toFixed(1), y: 110, "text-anchor": "middle"}, seconds(bucket.upTo))]);
  return svg("svg", {class: "chart", viewBox: "0 0 340 115", role: "img", "aria-label": `${title}: observations per bucket`},
    svg("path", {d: "M0 95.5h340"}), ...bars, ...marks);
}

export function showLatency(place, text) {
  const all = histograms(text);
  place.replaceChildren(...kShown.filter(([name]) => all[name]).map(([name, title]) => {
    const one = all[name];
    return element("div", {class: "card"}, element("h3", {}, title), chart(title, one), element("dl", {}, ...terms([
      ["observations", String(one.count)],
      ["mean", one.count > 0 ? seconds(one.sum / one.count) : "-"],
      ["median", bound(quantile(one, 0.5), one.buckets)],
      ["99 %", bound(quantile(one, 0.99), one.buckets)],
    ])));
  }));
}
