// SPDX-License-Identifier: Apache-2.0
//
// What differs or is wrong is the same error on every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "host/training/reducer/reducers.h"
#include "training/reducer/calls.h"

namespace tandem::training::test {
namespace {

using testing::Each;
using testing::HasSubstr;

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();
const Shapes kErrorModel = {{"a", {10, 10}}, {"b", {20, 5}}};

// The text of the error of one step with both parameters.
std::string step_error(RankReducer& reducer) {
  return text_of([&] { reducer.step({{0, 1}}); });
}

// All ranks see `text`, where rank 1 differs in the options.
void expect_option_error(const std::function<void(ReducerOptions&)>& change,
                         const std::string& text) {
  expect_all_done(run_groups(3, [&](Group& group) {
    ReducerOptions options = plain_options("topk", 0.1);
    if (group.rank() == 1) change(options);
    RankReducer reducer(group, options, kErrorModel);
    EXPECT_EQ(step_error(reducer),
              "[training] " + text + "; give all ranks the same model and options");
  }));
}

TEST(ReducerErrors, NameTheOptionThatDiffersWithBothRanks) {
  expect_option_error([](ReducerOptions& options) { options.density = 0.2; },
                      "option density is 0.1 on rank 0 and 0.2 on rank 1");
  expect_option_error([](ReducerOptions& options) { options.sparsifier = "dgc"; },
                      "option sparsifier is topk on rank 0 and dgc on rank 1");
  expect_option_error([](ReducerOptions& options) { options.non_finite = OnNonFinite::kSkip; },
                      "option non_finite is stop on rank 0 and skip on rank 1");
  expect_option_error([](ReducerOptions& options) { options.algorithm.momentum = 0.5; },
                      "option momentum is 0 on rank 0 and 0.5 on rank 1");
  expect_option_error(
      [](ReducerOptions& options) {
        options.rules = {{"b", "dense", {}, {}}};
      },
      "the treatment of parameter b is topk with density 0.1 and scheme allgather_sparse on "
      "rank 0 and dense with density 1 and scheme allgather_sparse on rank 1");
}

TEST(ReducerErrors, RefuseASchemeThatSendsNo16BitValuesBeforeAnyStep) {
  expect_all_done(run_groups(1, [](Group& group) {
    ReducerOptions options = plain_options("dgc", 0.1);
    options.scheme = "ok_topk";
    options.wire = DType::kF16;
    Reducer reducer(group, options);
    EXPECT_THAT(text_of([&] { reducer.add_parameter("w", {100, 100}); }), HasSubstr("16 bits"));
  }));
}

TEST(ReducerErrors, NameTheParameterThatDiffersWithBothRanks) {
  expect_all_done(run_groups(3, [&](Group& group) {
    Shapes shapes = kErrorModel;
    if (group.rank() == 2) shapes[1].first = "c";
    RankReducer reducer(group, plain_options("topk", 0.1), shapes);
    EXPECT_THAT(step_error(reducer), HasSubstr("parameter 1 is b [20, 5] on rank 0 and c [20, 5] "
                                               "on rank 2; give all ranks the same model"));
  }));
  expect_all_done(run_groups(2, [&](Group& group) {
    Shapes shapes = kErrorModel;
    if (group.rank() == 1) shapes.push_back({"c", {1}});
    RankReducer reducer(group, plain_options("topk", 0.1), shapes);
    EXPECT_THAT(step_error(reducer),
                HasSubstr("the number of parameters is 2 on rank 0 and 3 on rank 1"));
  }));
}

TEST(ReducerErrors, NameWhatDiffersInABucketAndTheReducerStaysUsable) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kErrorModel);
    const bool other = group.rank() == 1;
    EXPECT_THAT(text_of([&] {
                  reducer.step({other ? std::vector<std::uint32_t>{1, 0}
                                      : std::vector<std::uint32_t>{0, 1}});
                }),
                HasSubstr("parameter 0 of the bucket is a on rank 0 and b on rank 1"));
    EXPECT_THAT(text_of([&] {
                  reducer.step({{0, 1}}, /*exact=*/other);
                }),
                HasSubstr("the bucket's flag exact is 0 on rank 0 and 1 on rank 1"));
    EXPECT_EQ(step_error(reducer), "");
    EXPECT_EQ(reducer->step(), 3u);
  }));
}

TEST(ReducerErrors, NameABucketAgainstRows) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kErrorModel);
    const std::vector<std::uint32_t> bucket = {0};
    Values values(100);
    const std::vector<std::int64_t> rows = {1};
    const Ticket ticket =
        group.rank() == 0
            ? reducer->submit({.parameters = bucket, .values = values.data()})
            : reducer->submit_rows({.parameter = 0, .rows = rows, .values = values.data()});
    EXPECT_THAT(text_of([&] { reducer->wait(ticket, Deadline::never()); }),
                HasSubstr("the call is a bucket on rank 0 and rows on rank 1"));
  }));
}

// Rank 1 alone gives a wrong bucket.
void expect_bucket_error(const Bucket& wrong, const std::string& text) {
  expect_all_done(run_groups(3, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kErrorModel);
    const std::vector<std::uint32_t> both = {0, 1};
    Values values(200, 1);
    const Bucket right = {.parameters = both, .values = values.data(), .last = wrong.last};
    const Ticket ticket = reducer->submit(group.rank() == 1 ? wrong : right);
    EXPECT_EQ(text_of([&] { reducer->wait(ticket, Deadline::never()); }),
              "[training] rank 1: " + text);
    EXPECT_THAT(values, Each(1.0f));
    EXPECT_EQ(step_error(reducer), "");
  }));
}

TEST(ReducerErrors, OfOneRanksArgumentsAreEveryRanks) {
  Values values(200);
  const std::vector<std::uint32_t> both = {0, 1}, unknown = {0, 7}, twice = {0, 0};
  expect_bucket_error({.parameters = unknown, .values = values.data()},
                      "there is no parameter 7; 2 were added");
  expect_bucket_error({.parameters = twice, .values = values.data()},
                      "a bucket lists parameter 0 twice");
  expect_bucket_error({.parameters = {}, .values = values.data()},
                      "a bucket has at least one parameter");
  expect_bucket_error({.parameters = both, .values = nullptr},
                      "the bucket has no values; give their address");
  expect_bucket_error({.parameters = both, .values = values.data(), .type = DType::kI8},
                      "gradients are of type f32, f16, bf16 or f64");
}

// A step in which rank 1's gradient of b has a NaN and an infinity.
struct BadStep {
  std::string text;
  Values values;  // of both parameters
  ReducerState state;
};

BadStep bad_step(Group& group, OnNonFinite choice) {
  ReducerOptions options = plain_options("topk", 0.5);
  options.non_finite = choice;
  RankReducer reducer(group, options, kErrorModel);
  reducer.step({{0, 1}});
  BadStep step;
  step.values.assign(200, 1);
  if (group.rank() == 1) {
    step.values[150] = kNan;
    step.values[151] = -kInfinity;
    step.values[152] = 3;
  }
  const std::vector<std::uint32_t> both = {0, 1};
  const Ticket ticket =
      reducer->submit({.parameters = both, .values = step.values.data(), .last = true});
  step.text = text_of([&] { reducer->wait(ticket, Deadline::never()); });
  step.state = parse_state(reducer->state());
  EXPECT_EQ(step_error(reducer), "");
  return step;
}

ReducerState state_before(Group& group) {
  RankReducer reducer(group, plain_options("topk", 0.5), kErrorModel);
  reducer.step({{0, 1}});
  return parse_state(reducer->state());
}

TEST(ReducerNonFinite, StopNamesStepRankAndParameterOnAllRanks) {
  expect_all_done(run_groups(3, [&](Group& group) {
    const ReducerState before = state_before(group);
    const BadStep step = bad_step(group, OnNonFinite::kStop);
    EXPECT_THAT(step.text,
                HasSubstr("step 1: the gradient of b on rank 1 has a NaN or an infinity"));
    EXPECT_EQ(step.values[0], 1);
    for (const std::size_t parameter : {0, 1}) {
      EXPECT_EQ(step.state.parameters[parameter].tensors, before.parameters[parameter].tensors);
    }
  }));
}

TEST(ReducerNonFinite, StopIsATypedError) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.5), kErrorModel);
    Values values(100, group.rank() == 0 ? kInfinity : 0);
    const std::vector<std::uint32_t> bucket = {0};
    const Ticket ticket = reducer->submit({.parameters = bucket, .values = values.data()});
    try {
      reducer->wait(ticket, Deadline::never());
      ADD_FAILURE() << "there was no error";
    } catch (const NonFiniteError& error) {
      EXPECT_EQ(error.step(), 0u);
      EXPECT_EQ(error.rank(), 0);
      EXPECT_EQ(error.parameter(), "a");
    }
  }));
}

TEST(ReducerNonFinite, SkipGivesAMeanOf0AndKeepsResiduals) {
  expect_all_done(run_groups(3, [&](Group& group) {
    const ReducerState before = state_before(group);
    const BadStep step = bad_step(group, OnNonFinite::kSkip);
    EXPECT_EQ(step.text, "");
    EXPECT_THAT(step.values, Each(0.0f));
    EXPECT_EQ(step.state.parameters[1].tensors, before.parameters[1].tensors);
  }));
}

TEST(ReducerNonFinite, PassGivesNanEverywhereAndKeepsResiduals) {
  expect_all_done(run_groups(3, [&](Group& group) {
    const ReducerState before = state_before(group);
    const BadStep step = bad_step(group, OnNonFinite::kPass);
    EXPECT_EQ(step.text, "");
    EXPECT_THAT(step.values, Each(testing::IsNan()));
    EXPECT_EQ(step.state.parameters[1].tensors, before.parameters[1].tensors);
  }));
}

TEST(ReducerNonFinite, ClipReplacesByTheLargestFiniteMagnitudeOfTheParameter) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("dense", 1);
    options.non_finite = OnNonFinite::kClip;
    RankReducer reducer(group, options, kErrorModel);
    Values values(200, 1);
    values[0] = 50;  // of the other parameter
    if (group.rank() == 1) {
      values[150] = kNan;
      values[151] = -kInfinity;
      values[152] = 3;
    }
    const std::vector<std::uint32_t> both = {0, 1};
    reducer->wait(reducer->submit({.parameters = both, .values = values.data()}),
                  Deadline::never());
    EXPECT_EQ(values[0], 50);
    EXPECT_EQ(values[150], 0.5);
    EXPECT_EQ(values[151], -1);
    EXPECT_EQ(values[152], 2);
    EXPECT_EQ(values[153], 1);
    EXPECT_EQ(reducer->statistics().buckets[0].clipped_calls, 1u);
  }));
}

TEST(ReducerNonFinite, IsFoundInFloat64AndInFloat16) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.5), kErrorModel);
    const std::vector<std::uint32_t> bucket = {1};
    std::vector<double> wide(100, group.rank() == 1 ? -kInfinity : 0);
    std::vector<std::uint16_t> narrow(100, f32_to_f16(group.rank() == 1 ? kNan : 0));
    const auto text = [&](void* values, DType type) {
      const Ticket ticket = reducer->submit({bucket, values, type});
      return text_of([&] { reducer->wait(ticket, Deadline::never()); });
    };
    EXPECT_THAT(text(wide.data(), DType::kF64), HasSubstr("gradient of b on rank 1"));
    EXPECT_THAT(text(narrow.data(), DType::kF16), HasSubstr("gradient of b on rank 1"));
  }));
}

TEST(ReducerFailure, OfTheGroupEndsAllLaterCallsAtOnceWithTheFirstReason) {
  const auto ranks = run_groups(3, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kErrorModel);
    EXPECT_EQ(step_error(reducer), "");
    if (group.rank() == 2) return;  // its group ends
    const RankResult first = collectives::test::outcome_of([&] { reducer.step({{0}, {1}}); });
    EXPECT_EQ(first.outcome, Outcome::kTransportError) << first.text;
    const RankResult later = collectives::test::outcome_of([&] { reducer.step({{0, 1}}); });
    EXPECT_EQ(later.outcome, Outcome::kTransportError);
    EXPECT_EQ(later.text, first.text);
    // What was accumulated can still be saved.
    EXPECT_EQ(parse_state(reducer->state()).parameters.size(), 2u);
  });
  expect_all_done(ranks);
}

TEST(ReducerFailure, OfAnAbortEndsAWait) {
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 0.1), kErrorModel);
    if (group.rank() == 1) {
      group.abort("enough");
      return;
    }
    EXPECT_THAT(step_error(reducer), HasSubstr("enough"));
  }));
}

TEST(ReducerFailure, OfADeadlineLeavesTheCallRunning) {
  std::atomic<bool> has_waited{false};
  expect_all_done(run_groups(2, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 1), kErrorModel);
    Values values(100, 2);
    const std::vector<std::uint32_t> bucket = {0};
    const auto submit = [&] {
      return reducer->submit({.parameters = bucket, .values = values.data()});
    };
    if (group.rank() == 0) {
      const Ticket ticket = submit();  // rank 1 comes only after the wait
      EXPECT_FALSE(reducer->wait(ticket, Deadline::after(std::chrono::milliseconds(20))));
      has_waited = true;
      EXPECT_TRUE(reducer->wait(ticket, Deadline::never()));
    } else {
      while (!has_waited) std::this_thread::yield();
      EXPECT_TRUE(reducer->wait(submit(), Deadline::never()));
    }
    EXPECT_THAT(values, Each(2.0f));
  }));
}

TEST(ReducerFailure, IsAnErrorForATicketThatWasNeverGiven) {
  expect_all_done(run_groups(1, [&](Group& group) {
    RankReducer reducer(group, plain_options("topk", 1), kErrorModel);
    EXPECT_THAT(text_of([&] { reducer->wait(3, Deadline::never()); }),
                HasSubstr("there is no ticket 3; 0 were given"));
  }));
}

TEST(ReducerErrors, OfParametersNameThem) {
  expect_all_done(run_groups(1, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 1));
    reducer.add_parameter("a", {3});
    EXPECT_THAT(text_of([&] { reducer.add_parameter("a", {3}); }),
                HasSubstr("parameter a exists already"));
    EXPECT_THAT(text_of([&] { reducer.add_parameter("", {3}); }), HasSubstr("needs a name"));
    EXPECT_THAT(text_of([&] {
                  reducer.add_parameter("b", {3, 0});
                }),
                HasSubstr("parameter b has the shape [3, 0]"));
    EXPECT_THAT(text_of([&] {
                  reducer.add_parameter("b", {1 << 16, 1 << 16});
                }),
                HasSubstr("a parameter has 1 to 2^32 - 1 values"));
    EXPECT_EQ(reducer.add_parameter("b", {}), 1u);
  }));
}

}  // namespace
}  // namespace tandem::training::test
