// SPDX-License-Identifier: Apache-2.0
//
// Sums of ordinary f32 gradients against a naive loop in double precision.
#include <gtest/gtest.h>

#include <random>

#include "host/collectives/scheme/supports.h"
#include "support/ranks.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

TEST(SchemeSums, AgreeWithANaiveLoopInDoublePrecision) {
  const Domain domain{20000, 2};
  for (const int world : {3, 8}) {
    std::vector<SparseVector> inputs;
    const auto supports = make_supports(Support::kRandom, domain.num_units, world, 1);
    for (int rank = 0; rank < world; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      inputs.push_back(make_vector(domain, DType::kF32, supports[at], at));
      std::mt19937_64 random(at);
      std::normal_distribution<float> normal;
      for (float& value : inputs.back().values<float>()) value = normal(random);
    }
    const NaiveRows expected = reduce_naively(inputs, Reduction::kSum);
    for (const Scheme* scheme : all_schemes()) {
      SCOPED_TRACE(scheme->name());
      run_ranks(world, [&](std::unique_ptr<Transport> transport) {
        Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
        SchemeMemory memory;
        const auto aggregator = make_cpu_aggregator();
        const Reduced reduced = scheme->allreduce(
            ranks, inputs[static_cast<std::size_t>(transport->rank())], {}, memory, *aggregator);
        // World additions of values around 1, each rounded to 2^-24.
        EXPECT_EQ(difference(present_entries(reduced, Reduction::kSum), expected, 2e-6), "");
      });
    }
  }
}

}  // namespace
}  // namespace tandem::test
