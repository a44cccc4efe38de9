// SPDX-License-Identifier: Apache-2.0
//
// Attention units fed by rings: the same tokens as from the engine's thread, one wait per step, and
// an answer to every request, whatever fails.
#include "engine/attention/attention_ring.h"

#include <atomic>
#include <filesystem>
#include <stdexcept>

#include "common/error.h"
#include "cpu/backend.h"
#include "engine/executor/executor.h"
#include "host/engine/equivalence.h"
#include "support/hooked_attention_unit.h"
#include "support/queued_attention_unit.h"
#include "support/scratch_path.h"
#include "support/timeline_check.h"

namespace tandem::engine {
namespace {

class FedByRings : public Equivalence {
 protected:
  using Equivalence::Equivalence;

  NamedUnit queued_unit(test::QueuedComputeUnit& compute, std::uint32_t num_pages) const {
    return {"queued", std::make_unique<test::QueuedAttentionUnit>(
                          compute, std::move(rig_.cpu_unit(num_pages).unit))};
  }
  // One in the queue, a card and host memory.
  std::vector<NamedUnit> three_units(test::QueuedComputeUnit& compute,
                                     const test::NaiveUnitOptions& card = {.num_pages = 64}) const {
    std::vector<NamedUnit> units;
    units.push_back(queued_unit(compute, 64));
    units.push_back(rig_.naive_unit("card", card));
    units.push_back(rig_.cpu_unit(64));
    return units;
  }
  Fallbacks fallbacks() {
    return {[this] { return rig_.cpu_unit(256); },
            [this] {
              return NamedCompute{"cpu", device_->make_compute_unit(), 0};
            }};
  }

  const test::QueuedUnitOptions with_rings_{.signals = true};
  std::unique_ptr<device::Device> device_ = device::cpu_backend().open(0, {.num_threads = 1});
};

TEST_F(FedByRings, GivesTheSameTokensHoweverRequestsArePlacedAndCut) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    for (const int sub_batches : {1, 2}) {
      for (const EarlyQuery early : {EarlyQuery::kOff, EarlyQuery::kOn}) {
        const int chunk = early == EarlyQuery::kOn ? 7 : 256;
        SCOPED_TRACE(testing::Message() << "pages " << (placement == Placement::kPages)
                                        << " sub-batches " << sub_batches << " chunk " << chunk);
        EngineOptions options;
        options.placement = placement;
        options.num_sub_batches = sub_batches;
        options.max_step_tokens = chunk;
        options.early_query = early;
        options.kv_moves = sub_batches == 2;
        test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
        auto engine = rig_.engine_on(compute, three_units(compute), options);
        compare(run_all(*engine, requests()));
        for (const UnitStatus& unit : engine->status().units) {
          EXPECT_GT(unit.stats.launches, 0u) << unit.id;
        }
        EXPECT_GT(compute.counts().posts, 0u);
      }
    }
  }
}

TEST_F(FedByRings, IsAChoice) {
  for (const bool rings : {false, true}) {
    EngineOptions options;
    options.rings = rings;
    test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
    auto engine = rig_.engine_on(compute, rig_.cpu_units({256}), options);
    run_all(*engine, {requests().front()});
    EXPECT_EQ(compute.counts().posts > 0, rings);
    EXPECT_EQ(compute.counts().posts, compute.counts().awaits);
  }
}

class RingFamily : public FedByRings {
 protected:
  RingFamily() : RingFamily(saved_family("gemma3")) {}

 private:
  explicit RingFamily(const std::string& path) : FedByRings(path) {
    std::filesystem::remove(path);  // the mapping keeps it
  }
};

TEST_F(RingFamily, SeesTheSameWindows) {
  for (const int chunk : {1, 5, 256}) {
    SCOPED_TRACE(chunk);
    EngineOptions options;
    options.placement = Placement::kPages;
    options.num_sub_batches = 2;
    options.max_step_tokens = chunk;
    options.early_query = chunk == 5 ? EarlyQuery::kOn : EarlyQuery::kOff;
    test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
    auto engine = rig_.engine_on(compute, three_units(compute), options);
    compare(run_all(*engine, requests()));
  }
}

TEST_F(FedByRings, LosesNoTokenWithAUnit) {
  for (const std::uint64_t dies_at : {0, 1, 6, 21, 50}) {
    SCOPED_TRACE(dies_at);
    EngineOptions options;
    options.placement = Placement::kPages;
    options.num_sub_batches = dies_at % 2 == 0 ? 2 : 1;
    test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
    auto engine = rig_.engine_on(
        compute,
        three_units(compute, {.num_pages = 64, .read_bandwidth = 1e10, .lose_after = dies_at}),
        options);
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(engine->status().units[0].alive);
    EXPECT_FALSE(engine->status().units[1].alive);
    EXPECT_TRUE(engine->status().units[2].alive);
  }
}

// What it writes later goes to buffers that were set aside. New ones are made only for units that
// are not lost.
TEST_F(FedByRings, LosesNoTokenWithAUnitThatIsStuck) {
  for (const std::uint64_t stuck_at : {1, 2, 7, 22, 41}) {
    SCOPED_TRACE(stuck_at);
    Gate gate;
    int allocations = 0;
    EngineOptions options;
    options.placement = Placement::kPages;
    options.num_sub_batches = stuck_at % 2 == 0 ? 2 : 1;
    options.device_timeout = std::chrono::seconds(1);
    test::QueuedComputeUnit compute(rig_.compute(),
                                    {.signals = true, .on_allocate = [&] { ++allocations; }});
    auto engine = rig_.engine_on(compute,
                                 three_units(compute, {.num_pages = 64,
                                                       .read_bandwidth = 1e10,
                                                       .slow_batch = stuck_at,
                                                       .on_slow = [&] { gate.wait(); },
                                                       .spoils_slow = true}),
                                 options);
    allocations = 0;
    compare(run_all(*engine, requests()));
    EXPECT_FALSE(engine->status().units[1].alive);
    EXPECT_EQ(allocations, 2 * 3 + 2 + 2 * 2 + 1)
        << "rows with twins; partials of a unit; partials with twins and the slot of another";
    gate.open();
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(engine->status().units[0].alive);
    EXPECT_TRUE(engine->status().units[2].alive);
  }
}

TEST_F(FedByRings, LosesNoTokenWithTheComputeUnit) {
  for (const std::uint64_t lose_after : {0, 1, 17, 200, 333, 700, 1200}) {
    SCOPED_TRACE(lose_after);
    EngineOptions options;
    options.num_sub_batches = lose_after % 2 == 0 ? 2 : 1;
    test::QueuedComputeUnit compute(rig_.compute(), {.lose_after = lose_after, .signals = true});
    auto engine = rig_.engine_on(compute, three_units(compute), options, fallbacks());
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(compute.lost());
    const EngineStatus status = engine->status();
    EXPECT_FALSE(status.broken);
    EXPECT_FALSE(status.units[0].alive) << "it worked in the queue of what was lost";
    EXPECT_TRUE(status.units[1].alive);
  }
}

TEST_F(FedByRings, LosesNoTokenWhenAUnitAndTheComputeUnitDieInTheSameStep) {
  for (const std::uint64_t stuck_at : {2, 20, 40}) {
    SCOPED_TRACE(stuck_at);
    Gate gate;
    std::atomic<bool> dies{false};  // from the batch that is never answered in time
    EngineOptions options;
    options.placement = Placement::kPages;
    options.device_timeout = std::chrono::seconds(2);  // batches that end in time may be slow
    test::QueuedComputeUnit compute(rig_.compute(),
                                    {.signals = true, .dies = [&] { return dies.load(); }});
    auto engine = rig_.engine_on(compute,
                                 three_units(compute, {.num_pages = 64,
                                                       .read_bandwidth = 1e10,
                                                       .slow_batch = stuck_at,
                                                       .on_slow = [&] { dies = true, gate.wait(); },
                                                       .spoils_slow = true}),
                                 options, fallbacks());
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(compute.lost());
    EXPECT_FALSE(engine->status().units[0].alive) << "it worked in the queue of what was lost";
    EXPECT_FALSE(engine->status().units[1].alive);
    gate.open();
    compare(run_all(*engine, requests()));
    EXPECT_FALSE(engine->status().broken);
  }
}

// An error in the unit's thread refuses the step, which runs once more. A request that is refused
// again ends, and nothing else does.
TEST_F(FedByRings, TellsWhatAUnitRefusedAndGoesOn) {
  std::atomic<int> calls{0};
  test::UnitHooks hooks;
  hooks.on_wait = [&] {
    const int call = ++calls;
    if (call == 5 || call == 6) throw Error("card", "this batch is not for me");
  };
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("card", {.num_pages = 64}));
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
  auto engine = rig_.engine_on(compute, std::move(units), {});
  const Answer refused = run_all(*engine, {greedy(rig_.prompt(20, 1), 10)}).front();
  EXPECT_EQ(refused.finish, FinishReason::kError);
  EXPECT_NE(refused.last.error.find("not for me"), std::string::npos) << refused.last.error;
  compare(run_all(*engine, requests()));
  EXPECT_TRUE(engine->status().units[0].alive);
}

// An exception that is no Error says nothing about the batch: the unit may still work on it. The
// step runs once more, without that unit.
TEST_F(FedByRings, LosesTheUnitWhoseThreadIsThrownWhatNobodyExpects) {
  std::atomic<int> calls{0};
  test::UnitHooks hooks;
  hooks.on_wait = [&] {
    if (++calls == 5) throw std::runtime_error("nobody expects this");
  };
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("card", {.num_pages = 64}));
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
  auto engine = rig_.engine_on(compute, std::move(units), {}, fallbacks());
  const Answer answer = run_all(*engine, {greedy(rig_.prompt(20, 1), 10)}).front();
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(engine->status().rebuilt_sequences, 1u);
  compare(run_all(*engine, requests()));
  EXPECT_FALSE(engine->status().units[0].alive);
  EXPECT_EQ(calls, 5) << "it is left alone";
}

TEST_F(FedByRings, FallsBackWhenTheOnlyUnitIsLost) {
  test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("card", {.num_pages = 256, .lose_after = 30}));
  auto engine = rig_.engine_on(compute, std::move(units), {}, fallbacks());
  compare(run_all(*engine, requests()));
  EXPECT_EQ(engine->status().units.size(), 2u);
}

TEST_F(FedByRings, AreNotOfferedByEveryComputeUnit) {
  EXPECT_FALSE((device::supports<device::PostOp, device::AwaitOp>(rig_.compute())));
  EXPECT_THROW(rig_.compute().enqueue(device::PostOp{}), Error);
  EXPECT_THROW(rig_.compute().enqueue(device::AwaitOp{}), Error);
}

// One decode row on each of two units, with 20 and 24 tokens of past.
TEST_F(FedByRings, WaitsOncePerStepAndMovesOnlyTheRowsThatUnitsNeed) {
  test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
  const NamedUnit first = queued_unit(compute, 8), second = rig_.cpu_unit(8);
  Executor executor(rig_.model(), compute, {});
  executor.add_unit(*first.unit);
  executor.add_unit(*second.unit);
  const auto one = rig_.prompt(21, 1), other = rig_.prompt(25, 2);
  const BlockPlace left[] = {{0, 0}, {0, 1}}, right[] = {{1, 0}, {1, 1}};
  test::QueuedCounts before;
  for (const bool last : {false, true}) {
    const auto item = [&](const std::vector<model::TokenId>& tokens,
                          std::span<const BlockPlace> blocks) {
      RunnerItem item;
      item.blocks = blocks;
      item.past = last ? static_cast<int>(tokens.size()) - 1 : 0;
      item.tokens = last ? std::span(tokens).last(1) : std::span(tokens).first(tokens.size() - 1);
      item.logits = last ? LogitRows::kLast : LogitRows::kNone;
      return item;
    };
    before = compute.counts();
    const RunnerItem items[] = {item(one, left), item(other, right)};
    EXPECT_TRUE(executor.run(items, [](std::size_t, int, std::span<const float>) {}).empty());
  }
  const test::QueuedCounts after = compute.counts();
  const model::ModelConfig& config = rig_.model().config();
  const auto layers = static_cast<std::size_t>(config.num_layers);
  EXPECT_EQ(after.waits - before.waits, 1u);
  EXPECT_EQ(after.copies - before.copies, 1u) << "the logits";
  EXPECT_EQ(after.posts - before.posts, layers);
  EXPECT_EQ(after.awaits - before.awaits, layers);
  const auto q_width = static_cast<std::size_t>(config.q_heads * config.head_dim);
  const auto kv_width = static_cast<std::size_t>(config.kv_heads * config.head_dim);
  EXPECT_EQ(after.posted_bytes - before.posted_bytes,
            layers * (q_width + 2 * kv_width) * sizeof(float));
  EXPECT_EQ(after.awaited_bytes - before.awaited_bytes,
            layers * (q_width + static_cast<std::size_t>(config.q_heads)) * sizeof(float));
}

TEST_F(FedByRings, ShowsRunsAndWaitsOnTheTimeline) {
  const test::ScratchPath scratch("rings.json");
  {
    test::QueuedComputeUnit compute(rig_.compute(), with_rings_);
    trace::Timeline timeline(scratch.string());
    EngineOptions options;
    options.num_sub_batches = 2;
    options.placement = Placement::kPages;
    options.compute_id = "gpu:0";
    options.timeline = &timeline;
    auto engine = rig_.engine_on(compute, three_units(compute), options);
    compare(run_all(*engine, requests()));
  }
  const test::TimelineTracks tracks = test::read_timeline(scratch.string());
  test::expect_nested(tracks);
  for (const char* unit : {"card", "cpu"}) {
    for (const char* lane : {"attention of sub-batch 0", "attention of sub-batch 1"}) {
      ASSERT_TRUE(tracks.contains({unit, lane})) << unit;
      EXPECT_EQ(tracks.at({unit, lane}).front().name, "attention");
    }
    ASSERT_TRUE(tracks.contains({unit, "submission"})) << unit;
    EXPECT_EQ(tracks.at({unit, "submission"}).front().name, std::string("wait ") + unit);
  }
  bool posts = false, awaits = false;
  for (const auto& span : tracks.at({"gpu:0", "ops"})) {
    posts |= span.name == "post" && span.args.at("bytes") > 0;
    awaits |= span.name == "await";
  }
  EXPECT_TRUE(posts && awaits);
}

}  // namespace
}  // namespace tandem::engine
