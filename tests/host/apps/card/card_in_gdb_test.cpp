// SPDX-License-Identifier: Apache-2.0
//
// Where a card in gdb stops, and the script that starts it.
#include "apps/card/card_in_gdb.h"

#include <gtest/gtest.h>

namespace tandem::apps {
namespace {

TEST(CardInGdb, TakesNamesAndLinesAndNothingThatGdbOrTheShellWouldRun) {
  for (const char* place : {"vadd", "src/my-kernel.cpp:16", "tandem::f", "c++.cpp:3"}) {
    EXPECT_EQ(gdb_place_problem(place), "") << place;
  }
  for (const char* place : {"", "-x", "vadd; quit", "vadd'", "$(touch x)", "a b", "f\nshell ls"}) {
    EXPECT_NE(gdb_place_problem(place), "") << place;
  }
}

TEST(CardInGdb, TheScriptStopsInTheKernelAndPassesTheCardsWords) {
  const std::string text = card_in_gdb_script("vadd.cpp:16", false);
  EXPECT_TRUE(text.starts_with("#!/bin/sh\nexec gdb ")) << text;
  EXPECT_NE(
      text.find(" -ex 'break vadd.cpp:16' -ex run --args \"$XILINX_XRT/bin/tandem-card\" \"$@\"\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("-iex 'set breakpoint pending on'"), std::string::npos);
  EXPECT_NE(card_in_gdb_script("vadd", true).find(" -ex run -ex 'layout src' --args"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::apps
