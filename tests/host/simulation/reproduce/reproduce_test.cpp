// SPDX-License-Identifier: Apache-2.0
//
// The reproductions: every row states what it assumes, large gains are gains here too, and what is
// published with its set-up comes out within 15 %.
#include "simulation/reproduce/reproduce.h"

#include <gmock/gmock.h>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

TEST(Reproduce, EveryRowHasAssumptionsAndItsError) {
  for (const char* name : {"hpu", "neo", "lamina"}) {
    const Reproduction result = reproduce(name);
    EXPECT_EQ(result.system, name);
    EXPECT_GE(result.rows.size(), 2u);
    for (const ReproducedRow& row : result.rows) {
      EXPECT_GE(row.assumptions.size(), 5u) << row.what;
      EXPECT_GT(row.simulated, 0) << row.what;
      EXPECT_DOUBLE_EQ(row.error(), row.simulated / row.published - 1);
      // Large gains show whatever is assumed; energy depends on powers that are not published.
      const bool is_gain = row.what.starts_with("throughput") || row.what.starts_with("largest");
      if (is_gain && row.published > 1.85) {
        EXPECT_GT(row.simulated, 1) << row.what;
      }
    }
  }
}

// Rows whose set-up is not published in full say what is missing.
TEST(Reproduce, WhatHasItsSetUpPublishedIsWithinFifteenPercent) {
  for (const char* name : {"hpu", "neo"}) {
    for (const ReproducedRow& row : reproduce(name).rows) {
      const bool is_open = row.what.find("missing") != std::string::npos ||
                           row.what.find("H100 NVL") != std::string::npos ||
                           row.what.starts_with("share of transfers");
      if (!is_open) {
        EXPECT_NEAR(row.error(), 0, 0.15) << row.what;
      }
    }
  }
  EXPECT_NEAR(reproduce_lamina().rows.back().error(), 0, 0.15) << "the mean batch";
}

TEST(Reproduce, CardsGainMoreWithLargerBatches) {
  const Reproduction result = reproduce_hpu();
  EXPECT_LT(result.rows[0].simulated, result.rows[1].simulated);
  EXPECT_LT(result.rows[1].simulated, result.rows[2].simulated);
}

TEST(Reproduce, KnowsThreeSystems) {
  EXPECT_THAT(message_of([] { reproduce("vllm"); }), ::testing::HasSubstr("hpu, neo and lamina"));
}

}  // namespace
}  // namespace tandem::simulation
