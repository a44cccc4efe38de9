// SPDX-License-Identifier: Apache-2.0
//
// The prediction: its terms at their corners, and that a choice is never predicted to be slower.
#include "training/offload/cost_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace tandem::training {
namespace {

// A GPU at 1 TB/s beside a host at 50 GB/s, PCIe at 12 GB/s, ranks at 10 Gb/s.
DenseOffloadCosts gpu() {
  DenseOffloadCosts costs;
  costs.parameters = 1'000'000'000;
  costs.buckets = 40;
  costs.backward_s = 0.5;
  costs.device_bytes_per_s = 1e12;
  costs.host_bytes_per_s = 50e9;
  costs.link_bytes_per_s = 12e9;
  costs.network_bytes_per_s = 1.25e9;
  return costs;
}

TEST(OffloadCosts, OnTheDeviceAStepMovesItsBytesAfterBackward) {
  EXPECT_NEAR(dense_step_seconds(gpu(), OffloadPlace::kNone), 0.5 + 0.028, 1e-9);
  DenseOffloadCosts copied = gpu();
  copied.bf16_copy = true;
  EXPECT_NEAR(dense_step_seconds(copied, OffloadPlace::kNone), 0.5 + 0.030, 1e-9);
}

TEST(OffloadCosts, InHostMemoryTheSlowestStageAndABucketsWayCount) {
  // down 1/3 s, up 1/3 s, update 0.56 s, of which a fortieth comes after.
  const double stages = 2.0 / 3 + 0.56;
  EXPECT_NEAR(dense_step_seconds(gpu(), OffloadPlace::kHost), 2.0 / 3 + stages / 40, 1e-9);
  DenseOffloadCosts alone = gpu();
  alone.shares_cores = true;
  EXPECT_NEAR(dense_step_seconds(alone, OffloadPlace::kHost), 0.5 + stages, 1e-9);
}

TEST(OffloadCosts, RanksShareTheUpdateAndGatherTheRest) {
  DenseOffloadCosts costs = gpu();
  costs.world = 4;
  costs.link_bytes_per_s = 0;
  const double update = 0.14, gather = 2.4;
  EXPECT_NEAR(dense_step_seconds(costs, OffloadPlace::kHost), gather + (update + gather) / 40,
              1e-9);
}

TEST(OffloadCosts, AGpuWithRoomKeepsItsOptimiser) {
  const OffloadPrediction prediction = choose_dense_offload(gpu());
  EXPECT_EQ(prediction.place, OffloadPlace::kNone);
  EXPECT_TRUE(prediction.fits);
}

TEST(OffloadCosts, StateThatDoesNotFitGoesToTheHost) {
  DenseOffloadCosts costs = gpu();
  costs.device_free_bytes = 7'999'999'999;
  const OffloadPrediction prediction = choose_dense_offload(costs);
  EXPECT_EQ(prediction.place, OffloadPlace::kHost);
  EXPECT_THAT(prediction.reason, testing::HasSubstr("does not fit"));
  costs.device_free_bytes = 8'000'000'000;
  EXPECT_EQ(choose_dense_offload(costs).place, OffloadPlace::kNone);
}

// Ranks on hosts that compute everything: sharding saves bandwidth where the network is fast.
TEST(OffloadCosts, RanksOnTheirHostsShardWhereTheNetworkIsFastEnough) {
  DenseOffloadCosts costs = gpu();
  costs.world = 4;
  costs.shares_cores = true;
  costs.device_bytes_per_s = costs.host_bytes_per_s;
  costs.link_bytes_per_s = 0;
  EXPECT_EQ(choose_dense_offload(costs).place, OffloadPlace::kNone);
  costs.network_bytes_per_s = 25e9;
  EXPECT_EQ(choose_dense_offload(costs).place, OffloadPlace::kHost);
}

TEST(OffloadCosts, ACardGetsGradientsAndReturnsRowsWithTheirState) {
  RowOffloadCosts costs;
  costs.rows = 1000;
  costs.inputs = 3000;
  costs.width = 10;
  costs.state_values = 20;
  costs.host_bytes_per_s = 1e9;
  costs.link_bytes_per_s = 1e9;
  costs.card_units = 4;
  costs.cards = 2;
  const double kernel = 4000 * 10 * 0.25 / 8 / 300e6;
  EXPECT_NEAR(row_step_seconds(costs, OffloadPlace::kCards),
              40e-6 + (3000 * 44 + 1000 * 120) / 2e9 + kernel, 1e-12);
  // Sums: 4,000 rows read and written; then the gradient read, weights and state read and written.
  EXPECT_NEAR(row_step_seconds(costs, OffloadPlace::kNone),
              (8.0 * 4000 * 10 + 1000 * (40 + 8 * 30)) / 1e9, 1e-12);
}

TEST(OffloadCosts, ACardTakesRowsWhereItsLinkIsFasterThanTheHostsMemoryServesThem) {
  RowOffloadCosts costs;
  costs.rows = costs.inputs = 100'000;
  costs.width = 64;
  costs.state_values = 128;
  costs.host_bytes_per_s = 5e9;
  costs.link_bytes_per_s = 12e9;
  costs.card_units = 8;
  EXPECT_EQ(choose_row_offload(costs).place, OffloadPlace::kCards);
  costs.rows = costs.inputs = 10;  // the launch costs more
  EXPECT_EQ(choose_row_offload(costs).place, OffloadPlace::kNone);
}

TEST(OffloadCosts, TheChoiceIsNeverPredictedToBeSlowerThanNone) {
  std::mt19937_64 random(3);
  const auto rate = [&] { return std::pow(10.0, 8 + static_cast<double>(random() % 400) / 100); };
  for (int i = 0; i < 2000; ++i) {
    DenseOffloadCosts dense = gpu();
    dense.parameters = 1 + random() % 2'000'000'000;
    dense.buckets = 1 + random() % 100;
    dense.world = static_cast<int>(1 + random() % 16);
    dense.shares_cores = random() % 2 == 0;
    dense.bf16_copy = random() % 2 == 0;
    dense.backward_s = static_cast<double>(random() % 1000) * 1e-3;
    dense.device_bytes_per_s = rate();
    dense.host_bytes_per_s = rate();
    dense.link_bytes_per_s = rate();
    dense.network_bytes_per_s = rate();
    const OffloadPlace place = choose_dense_offload(dense).place;
    EXPECT_LE(dense_step_seconds(dense, place), dense_step_seconds(dense, OffloadPlace::kNone));
    RowOffloadCosts rows;
    rows.rows = static_cast<double>(1 + random() % 1'000'000);
    rows.inputs = rows.rows * 2;
    rows.width = static_cast<std::uint32_t>(1 + random() % 256);
    rows.host_bytes_per_s = rate();
    rows.link_bytes_per_s = rate();
    const OffloadPlace table = choose_row_offload(rows).place;
    EXPECT_LE(row_step_seconds(rows, table), row_step_seconds(rows, OffloadPlace::kNone));
  }
}

}  // namespace
}  // namespace tandem::training
