// SPDX-License-Identifier: Apache-2.0
//
// The reproductions: their figures, and that every row states what it assumes and what is missing.
#include "simulation/reproduce/reproduce.h"

#include <gmock/gmock.h>

#include <cmath>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

struct KnownRow {
  const char* begin;  // of its name
  double published, simulated;
};

// Rows beyond 15 % name in their assumptions what the publication does not state.
void expect_rows(const char* system, const std::vector<KnownRow>& known) {
  const Reproduction result = reproduce(system);
  EXPECT_EQ(result.system, system);
  ASSERT_EQ(result.rows.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const ReproducedRow& row = result.rows[i];
    EXPECT_THAT(row.what, ::testing::StartsWith(known[i].begin));
    EXPECT_EQ(row.published, known[i].published) << row.what;
    EXPECT_NEAR(row.simulated, known[i].simulated, 0.005 * known[i].simulated)
        << row.what << ": README.md has this figure too";
    EXPECT_DOUBLE_EQ(row.error(), row.simulated / row.published - 1);
    EXPECT_GE(row.assumptions.size(), 5u) << row.what;
    std::string assumptions;
    for (const std::string& assumption : row.assumptions) assumptions += assumption + '\n';
    if (std::abs(row.error()) > 0.15) {
      EXPECT_THAT(assumptions, ::testing::ContainsRegex("[Mm]issing: ")) << row.what;
    }
  }
}

TEST(Reproduce, TheFiguresOfAGpuWithCards) {
  expect_rows("hpu", {{"throughput with 4 cards at batch 16", 1.9, 2.076},
                      {"throughput with 4 cards at batch 32", 2.9, 3.085},
                      {"throughput with 4 cards at batch 64", 4.1, 4.076},
                      {"tokens per joule above idle at batch 64 over an L40S", 4.6, 3.992},
                      {"tokens per joule above idle at batch 64 over an H100", 1.9, 1.109},
                      {"share of transfers", 0.10, 0.1288},
                      {"throughput with 4 cards at batch 64 over an L40S with paged", 1.4, 1.338}});
}

TEST(Reproduce, TheFiguresOfAGpuWithItsHost) {
  expect_rows("neo", {{"rate over the GPU alone: T4", 6.63, 6.839},
                      {"rate over the GPU alone: T4", 7.5, 6.839},
                      {"throughput over the GPU alone: A10G, 4 cores", 1.122, 1.063},
                      {"throughput over the GPU alone: A10G, 8 cores", 1.133, 1.307},
                      {"throughput over the GPU alone: A10G, 16 cores", 1.297, 1.558},
                      {"throughput over the GPU alone: A10G, 32 cores", 1.793, 2.012},
                      {"throughput over the GPU alone: A10G, Llama-3.1-8B, best", 1.26, 1.307},
                      {"throughput over the GPU alone: two H100", 1.14, 1.065}});
}

TEST(Reproduce, TheFiguresOfGpusThatAttendForOthers) {
  expect_rows(
      "lamina",
      {{"least gain", 1.161, 0.858}, {"largest gain", 1.901, 1.391}, {"mean batch", 2.39, 2.329}});
}

TEST(Reproduce, KnowsThreeSystems) {
  EXPECT_THAT(message_of([] { reproduce("vllm"); }), ::testing::HasSubstr("hpu, neo and lamina"));
}

}  // namespace
}  // namespace tandem::simulation
