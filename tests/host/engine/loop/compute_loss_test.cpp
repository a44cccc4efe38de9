// SPDX-License-Identifier: Apache-2.0
//
// A compute unit that fails while requests run: they continue with its fallback and get the tokens
// of an undisturbed run.
#include <gmock/gmock.h>

#include "common/error.h"
#include "cpu/backend.h"
#include "host/engine/equivalence.h"
#include "support/queued_attention_unit.h"

namespace tandem::engine {
namespace {

using ::testing::HasSubstr;

class ComputeLoss : public Equivalence {
 protected:
  NamedUnit queued_unit(test::QueuedComputeUnit& compute, std::uint32_t num_pages) const {
    return {"gpu", std::make_unique<test::QueuedAttentionUnit>(
                       compute, std::move(rig_.cpu_unit(num_pages).unit))};
  }
  Fallbacks fallbacks() {
    return {[this] { return rig_.cpu_unit(256); },
            [this] {
              return NamedCompute{"cpu", device_->make_compute_unit(), 0};
            }};
  }

  std::unique_ptr<device::Device> device_ = device::cpu_backend().open(0, {.num_threads = 1});
};

TEST_F(ComputeLoss, LosesNoToken) {
  for (const std::uint64_t lose_after : {0, 1, 17, 200, 333, 700, 1200}) {
    SCOPED_TRACE(lose_after);
    EngineOptions options;
    options.compute_id = "gpu";
    options.num_sub_batches = lose_after % 2 == 0 ? 2 : 1;
    test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = lose_after});
    std::vector<NamedUnit> units;
    units.push_back(queued_unit(compute, 128));
    units.push_back(rig_.cpu_unit(64));
    auto engine = rig_.engine_on(compute, std::move(units), options, fallbacks());
    compare(run_all(*engine, requests()));
    const EngineStatus status = engine->status();
    EXPECT_TRUE(compute.lost());
    EXPECT_FALSE(status.broken);
    EXPECT_EQ(status.compute_id, "cpu");
    EXPECT_EQ(status.lost_compute_id, "gpu");
    EXPECT_FALSE(status.units[0].alive) << "it worked in the queue of what was lost";
    EXPECT_TRUE(status.units[1].alive);
  }
}

TEST_F(ComputeLoss, KeepsThePagesOfUnitsThatDoNotDependOnIt) {
  test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = 500});
  auto engine = rig_.engine_on(compute, rig_.cpu_units({256}), {}, fallbacks());
  compare(run_all(*engine, requests()));
  EXPECT_TRUE(compute.lost());
  EXPECT_EQ(engine->status().rebuilt_sequences, 0u);
  EXPECT_EQ(engine->status().units.size(), 1u) << "no other attention unit was made";
}

TEST_F(ComputeLoss, TakesTheAttentionFallbackWhenNoUnitIsLeft) {
  test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = 300});
  std::vector<NamedUnit> units;
  units.push_back(queued_unit(compute, 256));
  auto engine = rig_.engine_on(compute, std::move(units), {}, fallbacks());
  compare(run_all(*engine, requests()));
  ASSERT_EQ(engine->status().units.size(), 2u);
  EXPECT_TRUE(engine->status().units[1].alive);
  EXPECT_GT(engine->status().rebuilt_sequences, 0u);
}

TEST_F(ComputeLoss, LosesNoTokenWhenAUnitDiesInTheSameStep) {
  for (const std::uint64_t stuck_at : {2, 20, 40}) {
    SCOPED_TRACE(stuck_at);
    Gate gate;
    std::atomic<bool> dies{false};  // from the batch that is never answered in time
    EngineOptions options;
    options.placement = Placement::kPages;
    options.device_timeout = std::chrono::seconds(2);  // batches that end in time may be slow
    test::QueuedComputeUnit compute(rig_.compute(), {.dies = [&] { return dies.load(); }});
    std::vector<NamedUnit> units;
    units.push_back(queued_unit(compute, 64));
    units.push_back(rig_.naive_unit(
        "mortal", {.num_pages = 64, .read_bandwidth = 1e10, .slow_batch = stuck_at, .on_slow = [&] {
                     dies = true, gate.wait();
                   }}));
    auto engine = rig_.engine_on(compute, std::move(units), options, fallbacks());
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(compute.lost());
    EXPECT_FALSE(engine->status().units[1].alive);
    gate.open();
  }
}

// The compute unit is not lost, but has no memory at that moment.
TEST_F(ComputeLoss, AnAttentionFallbackWhoseBuffersDoNotFitIsNobody) {
  for (const int allocations : {0, 1, 2, 3}) {
    SCOPED_TRACE(allocations);
    bool made = false;
    int left = allocations;
    test::QueuedComputeUnit compute(rig_.compute(), {.on_allocate = [&] {
                                      if (made && left-- == 0) throw Error("gpu", "out of memory");
                                    }});
    std::vector<NamedUnit> units = rig_.cpu_units({4});
    units.push_back(rig_.naive_unit("mortal", {.num_pages = 64, .lose_after = 1}));
    EngineOptions options;
    options.placement = Placement::kPages;
    auto engine = rig_.engine_on(compute, std::move(units), options,
                                 {[&] {
                                    made = true;
                                    return rig_.cpu_unit(64);
                                  },
                                  {}});
    const Answer answer = run_all(*engine, {greedy(rig_.prompt(40, 1), 60)}).front();
    EXPECT_TRUE(made);
    EXPECT_EQ(answer.finish, FinishReason::kLength) << answer.last.error;
    EXPECT_EQ(answer.tokens.size(), 24u) << "what four pages hold";
    EXPECT_EQ(engine->status().units.size(), 2u);
    EXPECT_EQ(engine->max_request_tokens(), 64);
  }
}

TEST_F(ComputeLoss, SaysWhyWhenThereIsNoFallback) {
  test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = 500});
  auto engine = rig_.engine_on(compute, rig_.cpu_units({256}), {});
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(20, 1), 60)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kError);
  EXPECT_THAT(answer.last.error, HasSubstr("fell off the bus"));
  EXPECT_TRUE(engine->status().broken);
}

TEST_F(ComputeLoss, SaysWhyWhenTheFallbackCannotBeMadeOrIsLostToo) {
  test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = 500});
  Fallbacks none{{}, []() -> NamedCompute { throw Error("cpu", "no memory for the weights"); }};
  auto engine = rig_.engine_on(compute, rig_.cpu_units({256}), {}, none);
  EXPECT_THAT(run_all(*engine, {greedy(rig_.prompt(20, 1), 60)}).front().last.error,
              HasSubstr("no memory for the weights"));
  test::QueuedComputeUnit first(rig_.compute(), {.lose_after = 200});
  Fallbacks mortal{{}, [this] {
                     return NamedCompute{
                         "second",
                         std::make_unique<test::QueuedComputeUnit>(
                             rig_.compute(), test::QueuedUnitOptions{.lose_after = 200}),
                         0};
                   }};
  engine = rig_.engine_on(first, rig_.cpu_units({256}), {}, mortal);
  EXPECT_EQ(run_all(*engine, {greedy(rig_.prompt(20, 1), 60)}).front().finish,
            FinishReason::kError);
  EXPECT_TRUE(engine->status().broken);
}

}  // namespace
}  // namespace tandem::engine
