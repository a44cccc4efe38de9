// SPDX-License-Identifier: Apache-2.0
//
// Emulated cards as aggregators: the bits of the CPU, alone and as the servers of balanced
// parallelism; a card that dies in mid-run changes no bit.
#include "collectives/aggregator/aggregator.h"

#include "common/error.h"
#include "drivers/xrt/emulated_environment.h"
#include "host/collectives/aggregator/random_parts.h"
#include "host/collectives/api/groups.h"
#include "support/card_processes.h"
#include "xrt/backend.h"

namespace tandem::collectives {
namespace {

using test::expect_same_bits;
using test::random_part;

constexpr auto kPatience = std::chrono::seconds(60);

class CardAggregatorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Aggregator> make_card(int card = 0) {
    devices_.push_back(device::xrt_backend().open(card, {}));
    return make_device_aggregator(devices_.back()->make_aggregation_unit());
  }

  std::vector<std::unique_ptr<device::Device>> devices_;  // units must not outlive them
  std::mt19937_64 random_{31};
};

TEST_F(CardAggregatorTest, GivesTheBitsOfTheCpu) {
  const auto card = make_card();
  const auto cpu = make_cpu_aggregator();
  for (const DType type : {DType::kF32, DType::kU64}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      for (const Domain domain : {Domain{700, 1}, Domain{300'000, 1}, Domain{5000, 7}}) {
        for (const std::vector<std::size_t>& counts :
             {std::vector<std::size_t>{1500}, {0, 0, 0}, {600, 0, 900, 1, 300}}) {
          std::vector<SparseVector> parts;
          for (const std::size_t count : counts) {
            parts.push_back(random_part(domain, type, count, random_));
          }
          expect_same_bits(card->aggregate(parts, reduction, Deadline::after(kPatience)),
                           cpu->aggregate(parts, reduction, Deadline::after(kPatience)));
        }
      }
    }
  }
  EXPECT_EQ(card->statistics().num_fallbacks, 0u);
  EXPECT_GT(card->statistics().modelled_seconds, 0);
  EXPECT_EQ(card->statistics().num_entries_out, cpu->statistics().num_entries_out);
}

TEST_F(CardAggregatorTest, LeavesOtherTypesToTheCpu) {
  const auto card = make_card();
  const std::vector<SparseVector> parts = {random_part({900, 1}, DType::kF64, 100, random_),
                                           random_part({900, 1}, DType::kF64, 100, random_)};
  expect_same_bits(card->aggregate(parts, Reduction::kSum, Deadline::after(kPatience)),
                   merge(parts, Reduction::kSum));
  EXPECT_EQ(card->statistics().num_fallbacks, 1u);
}

// A rank's gradient; f32, values that round.
struct Gradient {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;

  Gradient(std::uint64_t num_units, std::size_t count, int rank) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 100);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count; ++i) {
      indices.push_back(static_cast<std::uint32_t>(random() % num_units));
      values.push_back(normal(random));
    }
  }
  SparseView view(std::uint64_t num_units) const {
    SparseView view;
    view.num_units = num_units;
    view.num_entries = indices.size();
    view.indices = indices.data();
    view.values = values.data();
    return view;
  }
};

constexpr std::uint64_t kUnits = 60'000;

// Every rank's result of `calls` all-reduces by balanced parallelism; aggregators: [world], null
// for the CPU. between(call) runs on rank 0 before each call.
std::vector<std::vector<std::byte>> allreduce(const std::vector<Aggregator*>& aggregators,
                                              int calls, const std::function<void(int)>& between) {
  std::vector<std::vector<std::byte>> bytes(aggregators.size());
  const auto results = test::run_groups(static_cast<int>(aggregators.size()), [&](Group& group) {
    const Gradient gradient(kUnits, 3000, group.rank());
    ReduceOptions options;
    options.scheme = "balanced_parallelism";
    options.aggregator = aggregators[static_cast<std::size_t>(group.rank())];
    auto& out = bytes[static_cast<std::size_t>(group.rank())];
    for (int call = 0; call < calls; ++call) {
      if (group.rank() == 0) between(call);
      const SparseTensor sum = sparse_allreduce(group, gradient.view(kUnits), options);
      out.insert(out.end(), sum.indices.begin(), sum.indices.end());
      out.insert(out.end(), sum.values.begin(), sum.values.end());
    }
  });
  for (const test::RankResult& result : results) {
    EXPECT_EQ(result.outcome, test::Outcome::kDone) << result.text;
  }
  return bytes;
}

TEST_F(CardAggregatorTest, ServesBalancedParallelism) {
  for (const int world : {2, 4}) {
    const auto want =
        allreduce(std::vector<Aggregator*>(static_cast<std::size_t>(world)), 2, [](int) {});
    std::vector<std::unique_ptr<Aggregator>> cards;
    std::vector<Aggregator*> aggregators;
    for (int rank = 0; rank < world; ++rank) {
      cards.push_back(make_card(rank % 2));
      aggregators.push_back(cards.back().get());
    }
    EXPECT_EQ(allreduce(aggregators, 2, [](int) {}), want);
    for (const auto& card : cards) {
      EXPECT_EQ(card->statistics().num_aggregations, 2u);
      EXPECT_EQ(card->statistics().num_fallbacks, 0u);
      EXPECT_GT(card->statistics().modelled_seconds, 0);
    }
  }
}

TEST_F(CardAggregatorTest, ACardThatDiesInMidRunChangesNoBit) {
  const auto want = allreduce({nullptr, nullptr, nullptr}, 4, [](int) {});
  const auto first = make_card(0);
  const auto processes = tandem::test::card_processes();
  ASSERT_EQ(processes.size(), 1u);
  const auto second = make_card(1);
  const auto kill_first = [&](int call) {
    if (call != 2) return;
    EXPECT_EQ(kill(processes[0], SIGKILL), 0);
  };
  EXPECT_EQ(allreduce({first.get(), second.get(), nullptr}, 4, kill_first), want);
  EXPECT_EQ(first->statistics().num_fallbacks, 2u);
  EXPECT_EQ(second->statistics().num_fallbacks, 0u);
}

TEST_F(CardAggregatorTest, ACardThatHangsLeavesTimeForTheCpu) {
  const auto card = make_card();
  const auto processes = tandem::test::card_processes();
  ASSERT_EQ(processes.size(), 1u);
  const std::vector<SparseVector> parts = {random_part({900, 1}, DType::kF32, 100, random_),
                                           random_part({900, 1}, DType::kF32, 100, random_)};
  tandem::test::stop(processes[0]);
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(400));
  expect_same_bits(card->aggregate(parts, Reduction::kSum, deadline),
                   merge(parts, Reduction::kSum));
  EXPECT_EQ(card->statistics().num_fallbacks, 1u);
  ASSERT_EQ(kill(processes[0], SIGKILL), 0);
}

}  // namespace
}  // namespace tandem::collectives
