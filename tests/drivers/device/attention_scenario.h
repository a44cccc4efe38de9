// SPDX-License-Identifier: Apache-2.0
//
// Random attention batches with their expected results, for the op cases of attention units.
//
// SequenceModel is the caller's view of one sequence: its pages and every row it appended, not
// rounded. ScenarioBatch collects sequences of one layer, submits them to a unit and compares the
// result with tests/support/reference (double precision, on rows rounded as pages store them).
// Between the sequences are rows of q that belong to none. They hold NaN, and their results must
// not change. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "device/attention_unit.h"
#include "support/reference/attention.h"

namespace tandem::device_test {

using device::AttentionGeometry;
using device::PageId;

struct SequenceModel {
  std::vector<PageId> pages;
  std::vector<std::vector<float>> k, v;  // [num_layers][tokens, kv_heads, head_dim]

  SequenceModel(const AttentionGeometry& geometry, std::vector<PageId> its_pages)
      : pages(std::move(its_pages)), k(geometry.num_layers), v(geometry.num_layers) {}
  std::int32_t num_tokens(const AttentionGeometry& geometry, int layer) const {
    return static_cast<std::int32_t>(k[layer].size()) / (geometry.kv_heads * geometry.head_dim);
  }
};

// The work of one sequence in a batch.
struct Request {
  std::int32_t num_q = 1;
  std::int32_t num_new = 0;
  std::optional<std::int32_t> append_at;   // default: after its last token
  std::optional<std::int32_t> num_attend;  // default: all tokens, the new ones too
  bool has_gap = true;                     // a row of no sequence is before its queries
};

class ScenarioBatch {
 public:
  ScenarioBatch(const AttentionGeometry& geometry, int layer, std::mt19937_64& random)
      : geometry_(geometry), layer_(layer), random_(random) {}

  void add(SequenceModel& sequence, const Request& request);

  // The tokens that every query added from now on sees; the soft cap of the batch.
  void set_rule(const reference::AttentionRule& rule) { rule_ = rule; }

  // The values that submit() will pass; tests may change them before.
  device::AttentionBatch batch() const;
  device::AttentionPartial out();
  std::vector<float>& q() { return q_; }  // [rows, q_heads, head_dim]
  std::vector<float>& new_k() { return k_; }
  std::vector<device::AttentionSequence>& sequences() { return sequences_; }
  std::vector<PageId>& pages() { return pages_; }

  // Computes the expected results from the present state of the sequences.
  void take_answers();
  // The same, then submits.
  device::Ticket submit(device::AttentionUnit& unit);

  // After wait(): every row of a sequence is within `bound` (NMSE of O; relative 1e-4 of LSE),
  // every other row is unchanged.
  void expect_reference(double bound) const;
  // The same with a reference on rows that are not rounded.
  void expect_unrounded(double bound) const;

  const std::vector<float>& o() const { return o_; }
  const std::vector<float>& lse() const { return lse_; }

 private:
  struct Answered {
    SequenceModel* sequence;
    std::int32_t row, tokens;
  };
  void expect_answers(const std::vector<reference::AttentionAnswer>& answers, double bound) const;
  std::vector<reference::AttentionAnswer> answers(DType rounding) const;
  void add_rows(std::vector<float>* rows, std::size_t count);

  AttentionGeometry geometry_;
  int layer_;
  std::mt19937_64& random_;
  reference::AttentionRule rule_;
  std::vector<float> q_, k_, v_, o_, lse_;
  std::vector<device::AttentionSequence> sequences_;
  std::vector<PageId> pages_;
  std::vector<Answered> answered_;
  std::vector<reference::AttentionAnswer> rounded_, unrounded_;
};

// Page ids 0 .. num_pages-1 in random order.
class PageDeck {
 public:
  PageDeck(std::uint32_t num_pages, std::mt19937_64& random);
  std::vector<PageId> take(std::size_t count);
  std::vector<PageId> take_for(const AttentionGeometry& geometry, std::int32_t tokens);

 private:
  std::vector<PageId> pages_;
};

// Appends `tokens` random rows to every layer of the sequence, `step` rows a batch, and waits.
void fill(device::AttentionUnit& unit, SequenceModel& sequence, std::int32_t tokens,
          std::int32_t step, std::mt19937_64& random);

inline constexpr std::chrono::seconds kPatience{60};

}  // namespace tandem::device_test
