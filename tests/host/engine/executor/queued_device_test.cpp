// SPDX-License-Identifier: Apache-2.0
//
// A compute unit whose device buffers are not host memory, beside units that work in its queue and
// units that do not: the same tokens, no needless wait, and no needless copy.
#include <filesystem>

#include "engine/executor/executor.h"
#include "host/engine/equivalence.h"
#include "support/queued_attention_unit.h"

namespace tandem::engine {
namespace {

class QueuedDevice : public Equivalence {
 protected:
  using Equivalence::Equivalence;

  NamedUnit queued_unit(test::QueuedComputeUnit& compute, std::uint32_t num_pages) const {
    return {"queued", std::make_unique<test::QueuedAttentionUnit>(
                          compute, std::move(rig_.cpu_unit(num_pages).unit))};
  }

  void expect_same_on(test::QueuedComputeUnit& compute, std::vector<NamedUnit> units,
                      const EngineOptions& options) {
    auto engine = rig_.engine_on(compute, std::move(units), options);
    compare(run_all(*engine, requests()));
    status_ = engine->status();
    for (const UnitStatus& unit : status_.units) EXPECT_GT(unit.stats.launches, 0u) << unit.id;
  }
};

TEST_F(QueuedDevice, GivesTheSameTokensAloneAndWithUnitsOfHostMemory) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    for (const int sub_batches : {1, 2}) {
      for (const int chunk : {7, 256}) {
        SCOPED_TRACE(testing::Message() << "pages " << (placement == Placement::kPages)
                                        << " sub-batches " << sub_batches << " chunk " << chunk);
        EngineOptions options;
        options.placement = placement;
        options.num_sub_batches = sub_batches;
        options.max_step_tokens = chunk;
        test::QueuedComputeUnit compute(rig_.compute());
        std::vector<NamedUnit> units;
        units.push_back(queued_unit(compute, 256));
        expect_same_on(compute, std::move(units), options);
        units.clear();
        expect_same_on(compute, rig_.cpu_units({256}), options);
        units.push_back(rig_.naive_unit("card", {.num_pages = 64}));
        units.push_back(queued_unit(compute, 64));
        units.push_back(rig_.cpu_unit(64));
        expect_same_on(compute, std::move(units), options);
      }
    }
  }
}

class QueuedFamily : public QueuedDevice {
 protected:
  QueuedFamily() : QueuedFamily(saved_family("gemma3")) {}

 private:
  explicit QueuedFamily(const std::string& path) : QueuedDevice(path) {
    std::filesystem::remove(path);  // the mapping keeps it
  }
};

TEST_F(QueuedFamily, CopiesTheRaggedBeginningsOfWindowsToo) {
  for (const int chunk : {5, 256}) {
    EngineOptions options;
    options.placement = Placement::kPages;
    options.num_sub_batches = 2;
    options.max_step_tokens = chunk;
    test::QueuedComputeUnit compute(rig_.compute());
    std::vector<NamedUnit> units;
    units.push_back(queued_unit(compute, 64));
    units.push_back(rig_.naive_unit("card", {.num_pages = 64}));
    units.push_back(rig_.cpu_unit(64));
    expect_same_on(compute, std::move(units), options);
  }
}

TEST_F(QueuedDevice, IsLostLikeAnyUnitWhenAStagedOneDies) {
  EngineOptions options;
  options.placement = Placement::kPages;
  options.device_timeout = std::chrono::milliseconds(500);
  for (const bool stuck : {false, true}) {
    test::QueuedComputeUnit compute(rig_.compute());
    std::vector<NamedUnit> units;
    units.push_back(queued_unit(compute, 256));
    test::NaiveUnitOptions mortal = {.num_pages = 64, .read_bandwidth = 1e10};
    if (stuck) {
      mortal.slow_batch = 21, mortal.slow_for = std::chrono::seconds(3);
    } else {
      mortal.lose_after = 21;
    }
    units.push_back(rig_.naive_unit("mortal", mortal));
    auto engine = rig_.engine_on(compute, std::move(units), options);
    compare(run_all(*engine, requests()));
    EXPECT_TRUE(engine->status().units[0].alive);
    EXPECT_FALSE(engine->status().units[1].alive);
  }
}

// One decode row on the first unit and one on the second, with 20 and 24 tokens of past.
class QueuedStep : public QueuedDevice {
 protected:
  void run(test::QueuedComputeUnit& compute, device::AttentionUnit& first,
           device::AttentionUnit& second) {
    Executor executor(rig_.model(), compute, {});
    executor.add_unit(first);
    executor.add_unit(second);
    EXPECT_FALSE(executor.follows_rows());
    executor.interrupt_when([] { return true; });  // not asked: all is in the queue
    const auto one = rig_.prompt(21, 1), other = rig_.prompt(25, 2);
    const BlockPlace left[] = {{0, 0}, {0, 1}}, right[] = {{1, 0}, {1, 1}};
    const auto item = [](const std::vector<model::TokenId>& tokens,
                         std::span<const BlockPlace> blocks, bool last) {
      RunnerItem item;
      item.blocks = blocks;
      item.past = last ? static_cast<int>(tokens.size()) - 1 : 0;
      item.tokens = last ? std::span(tokens).last(1) : std::span(tokens).first(tokens.size() - 1);
      item.logits = last ? LogitRows::kLast : LogitRows::kNone;
      return item;
    };
    const auto sink = [](std::size_t, int, std::span<const float>) {};
    for (const bool last : {false, true}) {
      before_ = compute.counts();
      const RunnerItem items[] = {item(one, left, last), item(other, right, last)};
      EXPECT_TRUE(executor.run(items, sink).empty());
    }
    after_ = compute.counts();
  }

  std::size_t logit_bytes() const {
    return 2 * static_cast<std::size_t>(rig_.model().config().vocab_size) * sizeof(float);
  }

  test::QueuedCounts before_, after_;
};

TEST_F(QueuedStep, WaitsOnceWhereAllWorkIsInTheQueue) {
  test::QueuedComputeUnit compute(rig_.compute());
  const NamedUnit first = queued_unit(compute, 8), second = queued_unit(compute, 8);
  run(compute, *first.unit, *second.unit);
  EXPECT_EQ(after_.waits - before_.waits, 1u);
  EXPECT_EQ(after_.copies - before_.copies, 1u) << "the logits";
  EXPECT_EQ(after_.copied_bytes - before_.copied_bytes, logit_bytes());
}

TEST_F(QueuedStep, CopiesOnlyTheRowsThatUnitsOutsideTheQueueNeed) {
  test::QueuedComputeUnit compute(rig_.compute());
  const NamedUnit first = queued_unit(compute, 8), second = rig_.cpu_unit(8);
  run(compute, *first.unit, *second.unit);
  const model::ModelConfig& config = rig_.model().config();
  const auto layers = static_cast<std::size_t>(config.num_layers);
  EXPECT_EQ(after_.waits - before_.waits, layers + 1);
  const auto q_width = static_cast<std::size_t>(config.q_heads * config.head_dim);
  const auto kv_width = static_cast<std::size_t>(config.kv_heads * config.head_dim);
  const std::size_t row =
      q_width + 2 * kv_width + q_width + static_cast<std::size_t>(config.q_heads);
  EXPECT_EQ(after_.copied_bytes - before_.copied_bytes,
            logit_bytes() + layers * row * sizeof(float));
}

}  // namespace
}  // namespace tandem::engine
