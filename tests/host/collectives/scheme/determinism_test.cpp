// SPDX-License-Identifier: Apache-2.0
//
// A hundred runs of every scheme, with messages that come late at random: always the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/collectives/scheme/delayed_transport.h"
#include "host/collectives/scheme/supports.h"
#include "support/ranks.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

constexpr int kRuns = 100;

// Values of all magnitudes, so that any other order of additions shows.
std::vector<SparseVector> sensitive_inputs(Domain domain, int world) {
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < world; ++rank) {
    const auto seed = static_cast<std::uint64_t>(rank);
    const auto supports = make_supports(Support::kEqual, domain.num_units, world, 1);
    inputs.push_back(make_vector(domain, DType::kF32, supports[seed], seed));
    std::mt19937_64 random(seed);
    std::normal_distribution<float> exponent(0, 4);
    for (float& value : inputs.back().values<float>()) value *= std::exp2(exponent(random));
  }
  return inputs;
}

class Determinism : public ::testing::TestWithParam<const Scheme*> {};

TEST_P(Determinism, AHundredRunsWithRandomDelaysGiveTheSameBitsOnEveryRank) {
  const Scheme& scheme = *GetParam();
  const int world = 5;
  const auto inputs = sensitive_inputs({600, 1}, world);
  std::vector<std::vector<std::vector<std::byte>>> bits(inputs.size());  // [ranks, runs]
  run_ranks(world, [&](std::unique_ptr<Transport> inside) {
    const auto rank = static_cast<std::size_t>(inside->rank());
    DelayedTransport transport(std::move(inside), rank);
    const auto aggregator = make_cpu_aggregator();
    SchemeSettings settings;
    settings.node_of_rank = {0, 0, 1, 1, 1};
    settings.server_count = 3;
    for (int run = 0; run < kRuns; ++run) {
      settings.wire = run % 2 == 0 ? DType::kF32 : DType::kF16;
      SchemeMemory memory;
      Communicator ranks(transport, static_cast<std::uint32_t>(run),
                         Deadline::after(std::chrono::seconds(60)));
      bits[rank].push_back(
          bits_of(scheme.allreduce(ranks, inputs[rank], settings, memory, *aggregator)));
    }
  });
  for (int run = 0; run < kRuns; ++run) {
    for (const auto& of_rank : bits) {
      ASSERT_TRUE(of_rank[static_cast<std::size_t>(run)] ==
                  bits.front()[static_cast<std::size_t>(run % 2)])
          << "run " << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Determinism,
                         ::testing::ValuesIn(all_schemes().begin(), all_schemes().end()),
                         [](const auto& scheme) { return std::string(scheme.param->name()); });

}  // namespace
}  // namespace tandem::test
