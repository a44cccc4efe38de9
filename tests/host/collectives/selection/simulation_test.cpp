// SPDX-License-Identifier: Apache-2.0
//
// The simulation against closed forms, against itself at another scale, and with every scheme.
#include "collectives/simulation/simulation.h"

#include <gtest/gtest.h>

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {
namespace {

SimulationOptions options_of(int world) {
  SimulationOptions options;
  options.network.world = world;
  options.workload.domain = {1 << 20, 1};
  options.workload.density = 0.01;
  return options;
}

const SimulatedScheme& named(const SimulationResult& result, std::string_view name) {
  for (const SimulatedScheme& scheme : result.schemes) {
    if (scheme.name == name) return scheme;
  }
  throw Error("test", "no such scheme");
}

TEST(Simulation, DenseRingTakesItsClosedForm) {
  SimulationOptions options = options_of(8);
  options.schemes = {"dense_ring"};
  const auto result = simulate_collectives(options);
  const double bytes = 2.0 * 7 / 8 * 4 * (1 << 20);
  const double expected = bytes / options.network.bandwidth_bytes_per_s + 14 * 20e-6;
  EXPECT_NEAR(result.dense_ring_s / expected, 1, 0.01);
  EXPECT_NEAR(named(result, "dense_ring").bytes_sent / bytes, 1, 0.001);
  EXPECT_NEAR(named(result, "dense_ring").ratio_to_dense, 1, 1e-9);
}

TEST(Simulation, RunsEverySchemeAndIsDeterministic) {
  const SimulationOptions options = options_of(6);
  const auto first = simulate_collectives(options);
  const auto second = simulate_collectives(options);
  ASSERT_EQ(first.schemes.size(), all_schemes().size());
  for (std::size_t at = 0; at < first.schemes.size(); ++at) {
    EXPECT_GT(first.schemes[at].seconds, 0) << first.schemes[at].name;
    EXPECT_EQ(first.schemes[at].seconds, second.schemes[at].seconds) << first.schemes[at].name;
  }
}

TEST(Simulation, ASmallTensorStandsForTheFullOne) {
  SimulationOptions options = options_of(8);
  options.workload.domain = {1 << 22, 1};
  options.schemes = {"balanced_parallelism", "hierarchical_centralisation", "dense_ring"};
  const auto full = simulate_collectives(options);
  options.memory_bytes = 4 << 20;
  const auto scaled = simulate_collectives(options);
  for (const std::string& name : options.schemes) {
    EXPECT_EQ(named(full, name).scale, 1u);
    EXPECT_GT(named(scaled, name).scale, 1u);
    EXPECT_NEAR(named(scaled, name).seconds / named(full, name).seconds, 1, 0.1) << name;
  }
}

TEST(Simulation, TakesAModelAndCountsItsDensePart) {
  SimulationOptions options;
  options.model = "lstm";
  options.network.world = 4;
  options.schemes = {"balanced_parallelism"};
  options.memory_bytes = 64 << 20;
  for (const bool as_rows : {false, true}) {
    options.as_rows = as_rows;
    const auto result = simulate_collectives(options);
    const SimulatedScheme& scheme = result.schemes.front();
    EXPECT_NEAR(result.statistics.density, 0.0113, 0.001);
    EXPECT_GT(scheme.ratio_to_dense, scheme.ratio_with_rest);
    EXPECT_GT(scheme.ratio_with_rest, 1);
  }
  options.model = "unheard-of";
  EXPECT_THROW(simulate_collectives(options), Error);
}

}  // namespace
}  // namespace tandem::collectives
