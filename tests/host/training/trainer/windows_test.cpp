// SPDX-License-Identifier: Apache-2.0
//
// Windows against what they promise: a permutation in every epoch, no overlap, the same again.
#include "training/trainer/windows.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "common/error.h"

namespace tandem::training {
namespace {

TEST(Windows, AnEpochHasEveryWindowOnce) {
  for (const std::uint64_t tokens : {9u, 10u, 17u, 1003u, 4096u, 65537u}) {
    const Windows windows(tokens, 4, 7);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<std::uint64_t> begins;
      for (std::uint64_t at = 0; at < windows.per_epoch(); ++at) {
        begins.insert(windows.begin(epoch * windows.per_epoch() + at));
      }
      ASSERT_EQ(begins.size(), windows.per_epoch());
      std::uint64_t end = 0;
      for (const std::uint64_t begin : begins) {
        EXPECT_GE(begin, end);  // no overlap
        end = begin + 4;
      }
      EXPECT_LE(end, tokens);
    }
  }
}

TEST(Windows, EpochsDifferInOrderAndOffset) {
  const Windows windows(1003, 10, 7);
  std::vector<std::uint64_t> first, second;
  std::set<std::uint64_t> offsets;
  for (std::uint64_t at = 0; at < windows.per_epoch(); ++at) {
    first.push_back(windows.begin(at) / 10);
    second.push_back(windows.begin(windows.per_epoch() + at) / 10);
  }
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
    offsets.insert(windows.begin(epoch * windows.per_epoch()) % 10);
  }
  EXPECT_NE(first, second);
  EXPECT_GT(offsets.size(), 1u);
}

TEST(Windows, DependOnTheSeedAlone) {
  const Windows one(1000, 10, 1), again(1000, 10, 1), other(1000, 10, 2);
  int different = 0;
  for (std::uint64_t sample = 0; sample < 500; ++sample) {
    EXPECT_EQ(one.begin(sample), again.begin(sample));
    different += one.begin(sample) != other.begin(sample);
  }
  EXPECT_GT(different, 400);
}

TEST(Windows, ATextOfOneWindowGivesItInEveryEpoch) {
  const Windows windows(10, 10, 7);
  EXPECT_EQ(windows.per_epoch(), 1u);
  EXPECT_NO_THROW(windows.require(1));
  for (std::uint64_t sample = 0; sample < 5; ++sample) EXPECT_EQ(windows.begin(sample), 0u);
}

TEST(Windows, RefuseATextShorterThanAStep) {
  const Windows windows(100, 10, 1);
  EXPECT_NO_THROW(windows.require(9));
  try {
    windows.require(64);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[train] the text has 100 tokens, which are 9 windows of 10; a step of all ranks "
                 "takes 64; give a longer text, or lower --batch, --accumulate or --context");
  }
  EXPECT_THROW(Windows(3, 10, 1).require(1), Error);
}

}  // namespace
}  // namespace tandem::training
