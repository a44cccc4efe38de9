// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a working engine: which spans are on which track, and that they nest.
#include "engine/steps/step_trace.h"

#include <set>

#include "common/error.h"
#include "host/engine/equivalence.h"
#include "support/hooked_attention_unit.h"
#include "support/queued_attention_unit.h"
#include "support/scratch_path.h"
#include "support/timeline_check.h"

namespace tandem::engine {
namespace {

class StepTimeline : public Equivalence {
 protected:
  std::set<std::string> names_on(const std::string& device, const std::string& track) const {
    std::set<std::string> names;
    const auto found = tracks_.find({device, track});
    if (found == tracks_.end()) return names;
    for (const auto& span : found->second) names.insert(span.name);
    return names;
  }

  const test::ScratchPath scratch_{"steps.json"};
  const std::string path_ = scratch_.string();
  test::TimelineTracks tracks_;
};

TEST_F(StepTimeline, ShowsStepsOpsCopiesRunsAndWaits) {
  test::QueuedComputeUnit compute(rig_.compute());
  {
    trace::Timeline timeline(path_);
    EngineOptions options;
    options.num_sub_batches = 2;
    options.placement = Placement::kPages;
    options.early_query = EarlyQuery::kOn;
    options.kv_moves = true;
    options.compute_id = "gpu:0";
    options.timeline = &timeline;
    std::vector<NamedUnit> units;
    units.push_back({"gpu:0", std::make_unique<test::QueuedAttentionUnit>(
                                  compute, std::move(rig_.cpu_unit(64).unit))});
    units.push_back(rig_.naive_unit("card:0", {.num_pages = 64}));
    units.push_back(rig_.cpu_unit(64));
    auto engine = rig_.engine_on(compute, std::move(units), options);
    compare(run_all(*engine, requests()));
  }
  tracks_ = test::read_timeline(path_);
  test::expect_nested(tracks_);
  const std::set<std::string> engine = names_on("engine", "steps");
  for (const char* name :
       {"step", "plan", "run", "layer", "wait gpu:0", "wait card:0", "wait cpu"}) {
    EXPECT_TRUE(engine.contains(name)) << name;
  }
  const std::set<std::string> ops = names_on("gpu:0", "ops");
  for (const char* name : {"embed", "linear", "rope", "causal attention", "merge", "copy"}) {
    EXPECT_TRUE(ops.contains(name)) << name;
  }
  for (const char* unit : {"gpu:0", "card:0", "cpu"}) {
    for (const char* lane : {"attention of sub-batch 0", "attention of sub-batch 1"}) {
      EXPECT_EQ(names_on(unit, lane), std::set<std::string>{"attention"}) << unit;
    }
  }
  for (const auto& span : tracks_.at({"gpu:0", "ops"})) {
    if (span.name == "copy") {
      EXPECT_GT(span.args.at("bytes"), 0);
    }
    if (span.name == "merge") {
      EXPECT_GE(span.args.at("layer"), 0);
    }
  }
}

// With a timeline, the end of a run is asked for once after its submission.
TEST_F(StepTimeline, ARunThatIsRefusedAtTheFirstLookIsWaitedForAllTheSame) {
  int waits = 0;
  test::UnitHooks hooks;
  hooks.on_wait = [&] {
    if (++waits == 1 || waits == 3) throw Error("cpu", "this batch is not for me");
  };
  std::vector<NamedUnit> units = rig_.cpu_units({64});
  units[0].unit = std::make_unique<test::HookedAttentionUnit>(std::move(units[0].unit), hooks);
  trace::Timeline timeline(path_);
  EngineOptions options;
  options.timeline = &timeline;
  auto engine = rig_.engine(std::move(units), options);
  const Answer refused = run_all(*engine, {greedy(rig_.prompt(20, 1), 10)}).front();
  EXPECT_EQ(refused.finish, FinishReason::kError);
  EXPECT_NE(refused.last.error.find("not for me"), std::string::npos) << refused.last.error;
  EXPECT_EQ(waits, 4) << "the step, and once more alone";
  compare(run_all(*engine, requests()));
}

}  // namespace
}  // namespace tandem::engine
