// SPDX-License-Identifier: Apache-2.0
//
// Building random batches, and comparing results with the reference row by row.
#include "drivers/device/attention_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/reference/compare.h"

namespace tandem::device_test {
namespace {

constexpr float kUntouched = -12345.0f;
constexpr float kUnreadQuery = std::numeric_limits<float>::quiet_NaN();

void overwrite(std::vector<float>* rows, std::size_t at, std::span<const float> from) {
  rows->resize(std::max(rows->size(), at + from.size()));
  std::copy(from.begin(), from.end(), rows->begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

void ScenarioBatch::add_rows(std::vector<float>* rows, std::size_t count) {
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < count; ++i) rows->push_back(normal(random_));
}

void ScenarioBatch::add(SequenceModel& sequence, const Request& request) {
  const auto q_row = static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  const auto kv_row = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
  const std::int32_t before = sequence.num_tokens(geometry_, layer_);
  if (request.has_gap) q_.insert(q_.end(), q_row, kUnreadQuery);

  device::AttentionSequence s;
  s.q_begin = static_cast<std::int32_t>(q_.size() / q_row);
  s.num_q = request.num_q;
  add_rows(&q_, request.num_q * q_row);
  s.new_begin = static_cast<std::int32_t>(k_.size() / kv_row);
  s.num_new = request.num_new;
  add_rows(&k_, request.num_new * kv_row);
  add_rows(&v_, request.num_new * kv_row);
  s.append_at = request.append_at.value_or(before);
  overwrite(&sequence.k[layer_], s.append_at * kv_row, std::span(k_).subspan(s.new_begin * kv_row));
  overwrite(&sequence.v[layer_], s.append_at * kv_row, std::span(v_).subspan(s.new_begin * kv_row));
  s.num_attend = request.num_attend.value_or(sequence.num_tokens(geometry_, layer_));
  s.attend_begin = static_cast<std::int32_t>(rule_.begin);
  s.page_begin = static_cast<std::int32_t>(pages_.size());
  s.num_pages = static_cast<std::int32_t>(sequence.pages.size());
  pages_.insert(pages_.end(), sequence.pages.begin(), sequence.pages.end());
  sequences_.push_back(s);
  for (std::int32_t i = 0; i < s.num_q; ++i) {
    answered_.push_back({&sequence, s.q_begin + i, s.num_attend});
  }
  o_.assign(q_.size(), kUntouched);
  lse_.assign(q_.size() / geometry_.head_dim, kUntouched);
}

device::AttentionBatch ScenarioBatch::batch() const {
  return {.layer = layer_,
          .scale = 1.0f / std::sqrt(static_cast<float>(geometry_.head_dim)),
          .softcap = static_cast<float>(rule_.softcap),
          .q = q_,
          .k = k_,
          .v = v_,
          .sequences = sequences_,
          .pages = pages_};
}

device::AttentionPartial ScenarioBatch::out() { return {.o = o_, .lse = lse_}; }

std::vector<reference::AttentionAnswer> ScenarioBatch::answers(DType rounding) const {
  const auto q_row = static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  std::vector<reference::AttentionAnswer> all;
  for (const Answered& answered : answered_) {
    std::vector<float> k = answered.sequence->k[layer_], v = answered.sequence->v[layer_];
    reference::round_kv(rounding, geometry_.head_dim, k);
    reference::round_kv(rounding, geometry_.head_dim, v);
    all.push_back(reference::reference_attention(geometry_, batch().scale,
                                                 std::span(q_).subspan(answered.row * q_row, q_row),
                                                 k, v, answered.tokens, rule_));
  }
  return all;
}

void ScenarioBatch::take_answers() {
  rounded_ = answers(geometry_.kv_dtype);
  unrounded_ = answers(DType::kF32);
}

device::Ticket ScenarioBatch::submit(device::AttentionUnit& unit) {
  take_answers();
  return unit.submit(batch(), out());
}

void ScenarioBatch::expect_reference(double bound) const { expect_answers(rounded_, bound); }
void ScenarioBatch::expect_unrounded(double bound) const {
  const auto q_row = static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  for (std::size_t i = 0; i < answered_.size(); ++i) {
    const auto o = std::span(o_).subspan(answered_[i].row * q_row, q_row);
    EXPECT_LE(reference::nmse<double>(o, unrounded_[i].o), bound) << "row " << answered_[i].row;
  }
}

void ScenarioBatch::expect_answers(const std::vector<reference::AttentionAnswer>& expected,
                                   double bound) const {
  const auto heads = static_cast<std::size_t>(geometry_.q_heads);
  const std::size_t q_row = heads * geometry_.head_dim;
  std::vector<bool> is_answered(lse_.size() / heads);
  for (std::size_t i = 0; i < answered_.size(); ++i) {
    const std::size_t row = answered_[i].row;
    is_answered[row] = true;
    EXPECT_LE(reference::nmse<double>(std::span(o_).subspan(row * q_row, q_row), expected[i].o),
              bound)
        << "O of row " << row << " over " << answered_[i].tokens << " tokens";
    for (std::size_t head = 0; head < heads; ++head) {
      const double want = expected[i].lse[head];
      const float got = lse_[row * heads + head];
      if (std::isinf(want)) {
        EXPECT_EQ(got, want) << "LSE of row " << row << " head " << head;
      } else {
        EXPECT_NEAR(got, want, 1e-4 * (1 + std::fabs(want)))
            << "LSE of row " << row << " head " << head;
      }
    }
  }
  for (std::size_t row = 0; row < is_answered.size(); ++row) {
    if (is_answered[row]) continue;
    const auto o = std::span(o_).subspan(row * q_row, q_row);
    EXPECT_TRUE(std::all_of(o.begin(), o.end(), [](float x) { return x == kUntouched; }) &&
                lse_[row * heads] == kUntouched)
        << "row " << row << " belongs to no sequence but was written";
  }
}

PageDeck::PageDeck(std::uint32_t num_pages, std::mt19937_64& random) : pages_(num_pages) {
  std::iota(pages_.begin(), pages_.end(), PageId{0});
  std::shuffle(pages_.begin(), pages_.end(), random);
}

std::vector<PageId> PageDeck::take(std::size_t count) {
  if (count > pages_.size()) throw std::logic_error("the deck has too few pages for this case");
  std::vector<PageId> taken(pages_.end() - static_cast<std::ptrdiff_t>(count), pages_.end());
  pages_.resize(pages_.size() - count);
  return taken;
}

std::vector<PageId> PageDeck::take_for(const AttentionGeometry& geometry, std::int32_t tokens) {
  return take((tokens + geometry.page_tokens - 1) / geometry.page_tokens);
}

void fill(device::AttentionUnit& unit, SequenceModel& sequence, std::int32_t tokens,
          std::int32_t step, std::mt19937_64& random) {
  const AttentionGeometry& geometry = unit.geometry();
  for (int layer = 0; layer < geometry.num_layers; ++layer) {
    for (std::int32_t left = tokens; left > 0; left -= step) {
      ScenarioBatch batch(geometry, layer, random);
      batch.add(sequence, {.num_q = 0, .num_new = std::min(step, left)});
      const device::Ticket ticket = batch.submit(unit);
      ASSERT_EQ(unit.wait(ticket, Deadline::after(kPatience)), device::WaitResult::kDone);
    }
  }
}

}  // namespace tandem::device_test
