// SPDX-License-Identifier: Apache-2.0
//
// Histories of tokens in the pages of a CPU attention unit, batches over them, and the results of
// the double-precision reference.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "support/reference/attention.h"
#include "support/reference/compare.h"
#include "target_fixture.h"

namespace tandem::device {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3};
inline constexpr double kTolerance = 1e-10;  // NMSE of f32 arithmetic on values already rounded

// One sequence: all its K and V rows, rounded as pages store them.
struct History {
  std::vector<float> k, v;  // [tokens, kv_heads, head_dim], as appended
  std::vector<float> k_kept, v_kept;
  std::vector<PageId> pages;
  int tokens = 0;
};

class PagedAttention : public OnEveryTarget {
 protected:
  void make(AttentionGeometry geometry, std::uint32_t max_pages = 512) {
    geometry_ = geometry;
    AttentionUnitOptions options;
    options.geometry = geometry;
    options.kv_bytes = std::uint64_t{1} << 31;
    options.max_pages = max_pages;
    unit_ = device_->make_attention_unit(options);
    next_page_ = 0;
  }

  History make_history(int tokens) {
    History h;
    const std::size_t size =
        static_cast<std::size_t>(tokens) * geometry_.kv_heads * geometry_.head_dim;
    h.tokens = tokens;
    h.k = randoms(size);
    h.v = randoms(size);
    h.k_kept = h.k;
    h.v_kept = h.v;
    reference::round_kv(geometry_.kv_dtype, geometry_.head_dim, h.k_kept);
    reference::round_kv(geometry_.kv_dtype, geometry_.head_dim, h.v_kept);
    const int pages = (tokens + geometry_.page_tokens - 1) / geometry_.page_tokens;
    // Pages in another order than in memory.
    for (int i = 0; i < pages; ++i) h.pages.push_back(next_page_ + pages - 1 - i);
    next_page_ += pages;
    return h;
  }

  std::size_t q_width() const {
    return static_cast<std::size_t>(geometry_.q_heads) * geometry_.head_dim;
  }

  struct Answer {
    std::vector<float> o, lse;
  };

  // Appends rows [from, to) and attends num_q queries of each history, all in one batch.
  struct Ask {
    const History* history;
    int append_from = 0, append_to = 0;
    int num_q = 1;
    int num_attend = -1;  // default: append_to
    int attend_begin = 0;
  };
  Answer submit(std::span<const Ask> asks, std::span<const float> q, float scale, int layer = 0) {
    std::vector<AttentionSequence> sequences;
    std::vector<PageId> pages;
    std::vector<float> k, v;
    std::int32_t q_row = 0;
    const std::size_t width = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
    for (const Ask& ask : asks) {
      AttentionSequence s;
      s.q_begin = q_row;
      s.num_q = ask.num_q;
      s.new_begin = static_cast<std::int32_t>(k.size() / width);
      s.num_new = ask.append_to - ask.append_from;
      s.append_at = ask.append_from;
      s.num_attend = ask.num_attend < 0 ? ask.append_to : ask.num_attend;
      s.attend_begin = ask.attend_begin;
      s.page_begin = static_cast<std::int32_t>(pages.size());
      s.num_pages = static_cast<std::int32_t>(ask.history->pages.size());
      sequences.push_back(s);
      pages.insert(pages.end(), ask.history->pages.begin(), ask.history->pages.end());
      const auto& h = *ask.history;
      k.insert(k.end(), h.k.begin() + ask.append_from * width, h.k.begin() + ask.append_to * width);
      v.insert(v.end(), h.v.begin() + ask.append_from * width, h.v.begin() + ask.append_to * width);
      q_row += ask.num_q;
    }
    Answer answer;
    answer.o.assign(q.size(), 77.0f);
    answer.lse.assign(q.size() / geometry_.head_dim, 77.0f);
    AttentionBatch batch;
    batch.layer = layer;
    batch.scale = scale;
    batch.softcap = softcap_;
    batch.q = q;
    batch.k = k;
    batch.v = v;
    batch.sequences = sequences;
    batch.pages = pages;
    const Ticket ticket = unit_->submit(batch, {answer.o, answer.lse});
    EXPECT_EQ(unit_->wait(ticket, Deadline::never()), WaitResult::kDone);
    return answer;
  }

  struct Seen {  // tokens [begin, end)
    Seen(int to, int from = 0) : begin(from), end(to) {}
    std::size_t begin, end;
  };
  void expect_row(const Answer& answer, std::size_t row, std::span<const float> q, const History& h,
                  const Seen& seen, float scale) {
    const std::size_t width = q_width(), heads = geometry_.q_heads;
    const auto want =
        reference::reference_attention(geometry_, scale, q.subspan(row * width, width), h.k_kept,
                                       h.v_kept, seen.end, {seen.begin, softcap_});
    const std::span<const float> o(answer.o.data() + row * width, width);
    const std::span<const float> lse(answer.lse.data() + row * heads, heads);
    EXPECT_LT(reference::nmse<double>(o, want.o), kTolerance) << "row " << row;
    for (std::size_t head = 0; head < heads; ++head) {
      EXPECT_NEAR(lse[head], want.lse[head], 2e-5 * (1 + std::fabs(want.lse[head])));
    }
  }

  // A whole history appended at once, then a batch of queries over it.
  void expect_history(int tokens, int num_q) {
    const History h = make_history(tokens);
    const float scale = 1.0f / std::sqrt(static_cast<float>(geometry_.head_dim));
    const auto q = randoms(num_q * q_width());
    const Ask ask{&h, 0, tokens, num_q};
    const Answer answer = submit({&ask, 1}, q, scale);
    for (int row = 0; row < num_q; ++row) expect_row(answer, row, q, h, tokens, scale);
  }

  AttentionGeometry geometry_;
  std::unique_ptr<AttentionUnit> unit_;
  PageId next_page_ = 0;
  float softcap_ = 0;
};

}  // namespace tandem::device
