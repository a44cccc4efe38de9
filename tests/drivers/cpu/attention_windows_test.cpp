// SPDX-License-Identifier: Apache-2.0
//
// Windows and soft caps of the CPU attention unit against the double-precision reference, for every
// instruction set and KV type.
#include "paged_attention_fixture.h"

namespace tandem::device {
namespace {

class CpuAttentionWindows : public PagedAttention {};

TEST_P(CpuAttentionWindows, SeesOnlyTheWindowAskedFor) {
  for (const DType dtype : kTypes) {
    for (const int page_tokens : {4, 16, 64}) {
      for (const int num_q : {1, 9}) {  // tiles as they are stored, and as f32
        make({1, 8, 2, 24, page_tokens, dtype});
        History h = make_history(200);
        const std::size_t token = 2 * 24;
        for (std::size_t i = 0; i < 15 * token; ++i) h.v[i] = kNan;  // no window may read it
        const Ask fill{&h, 0, 200, 0};
        submit({&fill, 1}, {}, 1.0f);
        for (const auto& [begin, end] :
             {std::pair{15, 16}, {16, 32}, {17, 31}, {31, 33}, {63, 200}, {64, 65}, {150, 150}}) {
          SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end));
          const auto q = randoms(num_q * q_width());
          const Ask ask{&h, 200, 200, num_q, end, begin};
          const Answer answer = submit({&ask, 1}, q, 0.2f);
          if (begin == end) {
            EXPECT_THAT(answer.o, testing::Each(0.0f));
            EXPECT_THAT(answer.lse, testing::Each(-std::numeric_limits<float>::infinity()));
          } else {
            for (int row = 0; row < num_q; ++row) expect_row(answer, row, q, h, {end, begin}, 0.2f);
          }
        }
      }
    }
  }
}

TEST_P(CpuAttentionWindows, CutsALongWindowByTokensWithoutATrace) {
  make({.num_layers = 1, .q_heads = 4, .kv_heads = 1, .head_dim = 64});
  const History h = make_history(4000);
  const Ask fill{&h, 0, 4000, 0};
  submit({&fill, 1}, {}, 1.0f);
  for (const int begin : {1, 63, 64, 1000, 1037}) {
    const auto q = randoms(q_width());
    const Ask ask{&h, 4000, 4000, 1, 3999, begin};
    expect_row(submit({&ask, 1}, q, 0.125f), 0, q, h, {3999, begin}, 0.125f);
  }
}

TEST_P(CpuAttentionWindows, CapsScoresSoftly) {
  for (const DType dtype : kTypes) {
    for (const int num_q : {1, 12}) {
      make({.num_layers = 1, .q_heads = 8, .kv_heads = 2, .head_dim = 32, .kv_dtype = dtype});
      softcap_ = 3.0f;
      expect_history(90, num_q);
      softcap_ = 50.0f;
      const History h = make_history(90);
      const auto q = randoms(num_q * q_width(), 20.0f);  // scores on both sides of the cap
      const Ask ask{&h, 0, 90, num_q, 85, 20};
      const Answer answer = submit({&ask, 1}, q, 1.0f);
      for (int row = 0; row < num_q; ++row) expect_row(answer, row, q, h, {85, 20}, 1.0f);
    }
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuAttentionWindows);

}  // namespace
}  // namespace tandem::device
