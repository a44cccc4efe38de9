// SPDX-License-Identifier: Apache-2.0
//
// Rows of `tandem bench`: parsed from words, clipped to a context, and named.
#include "apps/models/bench/rows.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::apps::bench {
namespace {

TEST(BenchRows, BatchAndContextComeFromOneWord) {
  const Row row = parse_decode("8@4096");
  EXPECT_EQ(row.kind, RowKind::kDecode);
  EXPECT_EQ(row.batch, 8);
  EXPECT_EQ(row.tokens, 4096);
  EXPECT_EQ(row_name(row), "decode_batch8_context4096");
  EXPECT_EQ(row_name(prefill_row(512)), "prefill_512");
}

TEST(BenchRows, WordsThatAreNotTwoNumbersAreRefused) {
  for (const char* word :
       {"", "8", "@", "8@", "@8", "8x4", "0@8", "8@0", "-1@8", "8@-1", "8@4k", "a@b", "8@4@4",
        "5000@8", "8@99999999", "99999999999999999999@1", " 8@4", "8@4 "}) {
    EXPECT_THROW(parse_decode(word), Error) << word;
  }
}

TEST(BenchRows, ARowBeyondTheContextIsClippedAndRemembersWhatWasAsked) {
  const Row row = clipped(parse_decode("2@4096"), 512);
  EXPECT_EQ(row.tokens, 512);
  EXPECT_EQ(row.asked_tokens, 4096);
  EXPECT_EQ(clipped(prefill_row(100), 512).tokens, 100);
}

TEST(BenchRows, EverySequenceHasPagesOfItsOwn) {
  EXPECT_EQ(pages_of(parse_decode("3@33"), 16), 9u);
  EXPECT_EQ(pages_of(parse_decode("32@4096"), 16), 8192u);
  EXPECT_EQ(pages_of(prefill_row(1), 16), 1u);
}

}  // namespace
}  // namespace tandem::apps::bench
