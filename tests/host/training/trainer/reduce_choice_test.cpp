// SPDX-License-Identifier: Apache-2.0
//
// The words of `--reduce`.
#include "training/trainer/reduce_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_reduce(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ReduceChoice, ReadsWhatItPrints) {
  for (const char* text : {"dense", "auto", "exdyna@0.01", "topk@0.001", "micro@1"}) {
    EXPECT_EQ(to_string(parse_reduce(text)), text);
  }
  EXPECT_EQ(parse_reduce("auto"), (ReduceChoice{"auto", 0.01}));
  EXPECT_EQ(parse_reduce("exdyna@0.01"), (ReduceChoice{"exdyna", 0.01}));
}

TEST(ReduceChoice, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("exdina@0.01"), HasSubstr("exdyna@DENSITY"));
  EXPECT_THAT(refusal("exdyna"), HasSubstr("exdyna@0.01"));
  for (const char* text : {"exdyna@", "exdyna@0", "exdyna@2", "exdyna@0.1x", "exdyna@nan"}) {
    EXPECT_THAT(refusal(text), HasSubstr("share")) << text;
  }
}

}  // namespace
}  // namespace tandem::training
