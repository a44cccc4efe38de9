// SPDX-License-Identifier: Apache-2.0
//
// ReferenceBlock: a decoder's block in f64 as its definitions say, for tests of what blocks leave
// out.
//
// States are [tokens][width], of one row of tokens; with early exit a state has one more value, 1
// once the token has left. Weights have the names of ParameterSpecs without "blk.0." and ".weight".
// Threads: any; it counts what it leaves out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "training/trainer/computation.h"

namespace tandem::test {

using Doubles = std::vector<double>;
using States = std::vector<Doubles>;

class ReferenceBlock {
 public:
  ReferenceBlock(const training::DecoderSizes& sizes, const training::DynamicBlocks& dynamics)
      : sizes_(sizes), dynamics_(dynamics) {}

  std::map<std::string, Doubles> weights;
  int left_out =
      0;  // of the last pass: tokens of experts, blocks of keys, tokens that leave or stay out

  double skew = 0;  // of this block

  States forward(const States& x, double depth = 1) {
    left_out = 0;
    if (dynamics_.exit_likeness > 0) return with_exits(x);
    if (weights.contains("depth_router")) return routed(x, depth);
    std::vector<int> all(x.size());
    std::iota(all.begin(), all.end(), 0);
    return feed_forward(attention(x, all, all));
  }

 private:
  static double dot(const Doubles& a, const Doubles& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }
  // Row `at` of a stack of matrices.
  Doubles product(const std::string& name, const Doubles& x, std::size_t at = 0,
                  std::size_t rows = 0) const {
    const Doubles& w = weights.at(name);
    if (rows == 0) rows = w.size() / x.size();
    Doubles y(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto* from = w.data() + (at * rows + row) * x.size();
      y[row] = std::inner_product(x.begin(), x.end(), from, 0.0);
    }
    return y;
  }
  Doubles normed(const Doubles& x, const std::string& name) const {
    const double scale = 1 / std::sqrt(dot(x, x) / static_cast<double>(x.size()) +
                                       static_cast<double>(sizes_.norm_epsilon));
    Doubles y = x;
    for (std::size_t at = 0; at < y.size(); ++at) y[at] *= scale * weights.at(name)[at];
    return y;
  }
  static Doubles sum(const Doubles& a, const Doubles& b, double by = 1) {
    Doubles y = a;
    for (std::size_t at = 0; at < y.size(); ++at) y[at] += by * b[at];
    return y;
  }
  // The head's part, turned by the token's position.
  Doubles head_of(const Doubles& projected, int head, int position, bool turns = true) const {
    const auto dim = static_cast<std::ptrdiff_t>(sizes_.head_dim);
    Doubles y(projected.begin() + head * dim, projected.begin() + (head + 1) * dim);
    for (int pair = 0; turns && pair < sizes_.num_frequencies; ++pair) {
      const double angle = position * static_cast<double>(sizes_.inverse_frequencies[pair]);
      const auto even = static_cast<std::size_t>(2 * pair);
      const double a = y[even], b = y[even + 1];
      y[even] = a * std::cos(angle) - b * std::sin(angle);
      y[even + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
    return y;
  }
  static Doubles softmax(Doubles x) {
    const double most = *std::ranges::max_element(x);
    double all = 0;
    for (double& value : x) all += value = std::exp(value - most);
    for (double& value : x) value /= all;
    return x;
  }

  // The blocks of 64 keys that a block of queries reads. q, k: of one head, in order.
  std::vector<bool> read_blocks(const States& q, const States& k, std::size_t block) {
    std::vector<bool> reads(block + 1, true);
    const std::size_t begin = block * 64, end = std::min(begin + 64, q.size());
    Doubles shares(block + 1);
    const std::size_t count = end - begin, groups = std::min<std::size_t>(4, count);
    for (std::size_t group = 0; group < groups; ++group) {
      Doubles mean(q[0].size());
      const std::size_t first = group * count / groups, last = (group + 1) * count / groups;
      for (std::size_t query = first; query < last; ++query) {
        mean = sum(mean, q[begin + query], 1.0 / static_cast<double>(last - first));
      }
      Doubles scores;
      for (std::size_t key = 0; key < end; ++key) {
        scores.push_back(dot(mean, k[key]) * static_cast<double>(sizes_.attention_scale));
      }
      scores = softmax(scores);
      for (std::size_t key = 0; key < end; ++key) {
        shares[key / 64] += scores[key] / static_cast<double>(groups);
      }
    }
    double held = shares[block];
    std::fill(reads.begin(), reads.end() - 1, false);
    const auto first = static_cast<double>(dynamics_.attention_mass),
               last = static_cast<double>(dynamics_.attention_mass_last);
    const double mass = last > 0 ? (first + last) / 2 : first;  // of the second of three blocks
    while (held < mass) {
      std::size_t most = block;
      for (std::size_t at = 0; at < block; ++at) {
        if (!reads[at] && (most == block || shares[at] > shares[most])) most = at;
      }
      if (most == block) break;
      reads[most] = true;
      held += shares[most];
    }
    left_out += static_cast<int>(std::ranges::count(reads, false));
    return reads;
  }

  // states + attention of these queries. positions: of the states; queries: places among them.
  States attention(const States& states, const std::vector<int>& positions,
                   const std::vector<int>& queries) {
    States mixed(queries.size());
    const int group = sizes_.q_heads / sizes_.kv_heads;
    for (int head = 0; head < sizes_.q_heads; ++head) {
      States q, k, v;
      for (std::size_t at = 0; at < states.size(); ++at) {
        const Doubles x = normed(states[at], "attn_norm");
        q.push_back(head_of(product("attn_q", x), head, positions[at]));
        k.push_back(head_of(product("attn_k", x), head / group, positions[at]));
        v.push_back(head_of(product("attn_v", x), head / group, 0, false));
      }
      std::vector<bool> reads;
      for (std::size_t number = 0; number < queries.size(); ++number) {
        const auto query = static_cast<std::size_t>(queries[number]);
        const bool is_sparse = dynamics_.attention_mass > 0;
        if (is_sparse && query % 64 == 0) reads = read_blocks(q, k, query / 64);
        Doubles scores;
        for (std::size_t key = 0; key <= query; ++key) {
          const bool seen = !is_sparse || reads[key / 64];
          scores.push_back(
              seen ? dot(q[query], k[key]) * static_cast<double>(sizes_.attention_scale) : -1e300);
        }
        scores = softmax(scores);
        Doubles out(v[0].size());
        for (std::size_t key = 0; key <= query; ++key) out = sum(out, v[key], scores[key]);
        mixed[number].insert(mixed[number].end(), out.begin(), out.end());
      }
    }
    States after;
    for (std::size_t number = 0; number < queries.size(); ++number) {
      after.push_back(sum(states[static_cast<std::size_t>(queries[number])],
                          product("attn_output", mixed[number])));
    }
    return after;
  }

  Doubles hidden(const Doubles& x, const std::string& suffix, std::size_t expert) const {
    const auto ffn = static_cast<std::size_t>(sizes_.ffn_width);
    Doubles gate = product("ffn_gate" + suffix, x, expert, ffn);
    const Doubles up = product("ffn_up" + suffix, x, expert, ffn);
    for (std::size_t at = 0; at < ffn; ++at) gate[at] *= up[at] / (1 + std::exp(-gate[at]));
    return product("ffn_down" + suffix, gate, expert, static_cast<std::size_t>(sizes_.width));
  }

  States feed_forward(const States& after) {
    States y = after;
    std::vector<int> taken(static_cast<std::size_t>(sizes_.experts));
    const double even =
        static_cast<double>(after.size()) * sizes_.experts_used / std::max(sizes_.experts, 1);
    // The share is an f32: 0.6 of ten tokens are six.
    const double most = std::ceil(static_cast<double>(dynamics_.expert_capacity) * even - 1e-5);
    for (std::size_t token = 0; token < after.size(); ++token) {
      const Doubles x = normed(after[token], "ffn_norm");
      if (sizes_.experts == 0) {
        y[token] = sum(y[token], hidden(x, "", 0));
        continue;
      }
      Doubles logits = product("ffn_gate_inp", x);
      for (std::size_t at = 0; at < logits.size(); ++at)
        logits[at] -= skew * static_cast<double>(at);
      std::vector<std::size_t> order(logits.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
      order.resize(static_cast<std::size_t>(sizes_.experts_used));
      Doubles chosen;
      for (const std::size_t expert : order) chosen.push_back(logits[expert]);
      const Doubles shares = softmax(chosen);
      for (std::size_t at = 0; at < order.size(); ++at) {
        if (most > 0 && taken[order[at]] >= most) {
          ++left_out;
          continue;
        }
        ++taken[order[at]];
        y[token] = sum(y[token], hidden(x, "_exps", order[at]), shares[at]);
      }
    }
    return y;
  }

  States routed(const States& x, double depth) {
    Doubles scores;
    for (const Doubles& state : x) scores.push_back(product("depth_router", state)[0]);
    std::vector<int> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(std::ceil(depth * static_cast<double>(x.size()))));
    std::ranges::sort(order);
    left_out = static_cast<int>(x.size() - order.size());
    States own, y = x;
    for (const int at : order) own.push_back(x[static_cast<std::size_t>(at)]);
    std::vector<int> all(own.size());
    std::iota(all.begin(), all.end(), 0);
    const States found = feed_forward(attention(own, order, all));
    for (std::size_t at = 0; at < order.size(); ++at) {
      const auto token = static_cast<std::size_t>(order[at]);
      const double share = 1 / (1 + std::exp(-scores[token]));
      y[token] = sum(own[at], sum(found[at], own[at], -1), share);
    }
    return y;
  }

  States with_exits(const States& x) {
    States states, y = x;
    std::vector<int> positions, staying;
    for (std::size_t at = 0; at < x.size(); ++at) {
      states.emplace_back(x[at].begin(), x[at].end() - 1);
      positions.push_back(static_cast<int>(at));
      if (x[at].back() == 0) staying.push_back(static_cast<int>(at));
    }
    if (staying.empty()) return y;
    const States found = feed_forward(attention(states, positions, staying));
    for (std::size_t at = 0; at < staying.size(); ++at) {
      const Doubles& before = states[static_cast<std::size_t>(staying[at])];
      const double likeness =
          dot(found[at], before) / std::sqrt(dot(found[at], found[at]) * dot(before, before));
      const bool leaves = likeness >= static_cast<double>(dynamics_.exit_likeness);
      left_out += leaves ? 1 : 0;
      y[static_cast<std::size_t>(staying[at])] = found[at];
      y[static_cast<std::size_t>(staying[at])].push_back(leaves ? 1 : 0);
    }
    return y;
  }

  const training::DecoderSizes sizes_;
  const training::DynamicBlocks dynamics_;
};

}  // namespace tandem::test
