// SPDX-License-Identifier: Apache-2.0
//
// Every scheme against a naive sum, over worlds and sizes, with u64 values: exact.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "collectives/scheme/scheme.h"
#include "support/ranks.h"

namespace tandem::collectives {
namespace {

SparseVector random_vector(Domain domain, std::size_t num_entries, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::uint32_t, std::uint64_t> entries;
  while (entries.size() < std::min<std::size_t>(num_entries, domain.num_units)) {
    entries[static_cast<std::uint32_t>(random() % domain.num_units)] = random();
  }
  SparseVector vector(domain, DType::kU64);
  vector.resize(entries.size());
  std::size_t at = 0;
  for (const auto& [index, value] : entries) {
    vector.indices<std::uint32_t>()[at] = index;
    vector.values<std::uint64_t>()[at++] = value;
  }
  return vector;
}

TEST(Scheme, SumsExactlyOnEveryWorld) {
  for (const Scheme* scheme : all_schemes()) {
    for (const int world : {1, 2, 3, 4, 5, 7, 8, 16}) {
      std::map<std::uint32_t, std::uint64_t> expected;
      std::vector<SparseVector> inputs;
      for (int rank = 0; rank < world; ++rank) {
        inputs.push_back(random_vector({1000, 1}, 100, static_cast<std::uint32_t>(rank)));
        for (std::size_t at = 0; at < inputs.back().num_entries(); ++at) {
          expected[inputs.back().indices<std::uint32_t>()[at]] +=
              inputs.back().values<std::uint64_t>()[at];
        }
      }
      test::run_ranks(world, [&](std::unique_ptr<Transport> transport) {
        Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(30)));
        SchemeSettings settings;
        settings.wire = DType::kU64;
        SchemeMemory memory;
        const auto aggregator = make_cpu_aggregator();
        const Reduced reduced =
            scheme->allreduce(ranks, inputs[static_cast<std::size_t>(transport->rank())], settings,
                              memory, *aggregator);
        const SparseVector& sum = std::get<SparseVector>(reduced);
        ASSERT_EQ(sum.num_entries(), expected.size());
        std::size_t at = 0;
        for (const auto& [index, value] : expected) {
          EXPECT_EQ(sum.indices<std::uint32_t>()[at], index);
          EXPECT_EQ(sum.values<std::uint64_t>()[at++], value);
        }
      });
    }
  }
}

}  // namespace
}  // namespace tandem::collectives
