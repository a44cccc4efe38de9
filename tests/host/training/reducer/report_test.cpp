// SPDX-License-Identifier: Apache-2.0
//
// What the reducer tells: statistics, metrics, timeline, log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/training/reducer/reducers.h"
#include "support/captured_log.h"
#include "trace/timeline.h"
#include "trace/training_metrics.h"

namespace tandem::training::test {
namespace {

using testing::HasSubstr;

const Shapes kReportModel = {{"a", {40, 25}}, {"b", {90}}};

TEST(ReducerStatistics, CountWhatABucketAskedAndSent) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("randomk", 0.1);
    options.rules = {{"b", "dense", {}, {}}};
    RankReducer reducer(group, options, kReportModel);
    for (int step = 0; step < 3; ++step) reducer.step({{0, 1}});
    reducer.step({{0, 1}}, /*exact=*/true);
    const ReducerStatistics all = reducer->statistics();
    EXPECT_EQ(all.steps, 4u);
    EXPECT_EQ(all.rank, group.rank());
    EXPECT_EQ(all.world, 2);
    ASSERT_EQ(all.buckets.size(), 1u);
    const BucketStatistics& bucket = all.buckets[0];
    EXPECT_THAT(bucket.parameters, testing::ElementsAre("a", "b"));
    EXPECT_EQ(bucket.num_values, 1090u);
    EXPECT_EQ(bucket.sparsified_values, 1000u);
    EXPECT_EQ(bucket.calls, 4u);
    EXPECT_EQ(bucket.dense_calls, 1u);
    EXPECT_EQ(bucket.density_asked, 0.1);
    EXPECT_EQ(bucket.density_sent, 0.1);
    EXPECT_NEAR(bucket.mean_density_sent, 0.1, 1e-12);
    EXPECT_EQ(bucket.build_up, 1);
    EXPECT_EQ(all.bytes_sent, bucket.bytes_sent);
    EXPECT_GT(bucket.bytes_sent, 3 * 490u * 4 / 2);
    EXPECT_NEAR(bucket.hidden_seconds + bucket.exposed_seconds, bucket.seconds, 1e-9);
    double squares = 0;
    const ReducerState state = parse_state(reducer->state());
    for (const float value : state.parameters[0].tensors.at(kResidual)) {
      squares += static_cast<double>(value) * value;
    }
    EXPECT_GT(squares, 0);
    EXPECT_NEAR(bucket.residual_norm, std::sqrt(squares), 1e-6);
    EXPECT_NEAR(all.residual_norm, std::sqrt(squares), 1e-6);
    const ReducerStatistics counts = reducer->counts();
    EXPECT_EQ(counts.bytes_sent, all.bytes_sent);
    EXPECT_EQ(counts.buckets[0].density_sent, 0.1);
    EXPECT_EQ(counts.residual_norm, 0) << "nobody has read the residuals for it";
  }));
}

TEST(ReducerStatistics, TellTheBuildUpOfSelectionsThatDiffer) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.01));
    const auto a = reducer.add_parameter("a", {1000});
    Values own(1000);
    for (std::size_t i = 0; i < 10; ++i) own[i + 100 * static_cast<std::size_t>(group.rank())] = 1;
    reducer.wait(reducer.submit({.parameters = {&a, 1}, .values = own.data(), .last = true}),
                 Deadline::never());
    const BucketStatistics bucket = reducer.statistics().buckets[0];
    EXPECT_EQ(bucket.build_up, 2);
    EXPECT_EQ(bucket.density_sent, 0.02);
  }));
}

TEST(ReducerStatistics, CountStepsThatEndAfterTheirBuckets) {
  expect_all_done(run_groups(2, [&](Group& group) {
    trace::TrainingMetrics metrics;
    ReducerOptions options = plain_options("randomk", 0.1);
    options.warmup_steps = 2;
    options.metrics = &metrics;
    Reducer reducer(group, options);
    const auto a = reducer.add_parameter("a", {100});
    for (int step = 0; step < 3; ++step) {
      Values own(100, 1);
      for (int call = 0; call < 2; ++call) {
        reducer.wait(reducer.submit({.parameters = {&a, 1}, .values = own.data()}),
                     Deadline::never());
      }
      reducer.end_step();
    }
    const ReducerStatistics all = reducer.statistics();
    EXPECT_EQ(all.steps, 3u);
    EXPECT_EQ(all.buckets[0].dense_calls, 4u);  // of the warm-up
    EXPECT_THAT(metrics.text(), HasSubstr("tandem_training_steps_total 3"));
  }));
}

TEST(ReducerStatistics, CountCallsThatWereSkippedOrFailed) {
  expect_all_done(run_groups(2, [&](Group& group) {
    ReducerOptions options = plain_options("topk", 0.1);
    options.non_finite = OnNonFinite::kSkip;
    Reducer reducer(group, options);
    const auto a = reducer.add_parameter("a", {100});
    Values own(100, NAN);
    reducer.wait(reducer.submit({.parameters = {&a, 1}, .values = own.data(), .last = true}),
                 Deadline::never());
    const Ticket wrong = reducer.submit({.parameters = {&a, 1}, .values = nullptr, .last = true});
    EXPECT_THROW(reducer.wait(wrong, Deadline::never()), Error);
    const BucketStatistics bucket = reducer.statistics().buckets[0];
    EXPECT_EQ(bucket.skipped_calls, 1u);
    EXPECT_EQ(bucket.failed_calls, 1u);
    EXPECT_EQ(bucket.calls, 2u);
  }));
}

TEST(ReducerStatistics, AreJson) {
  ReducerStatistics statistics;
  statistics.steps = 3;
  statistics.buckets.resize(1);
  statistics.buckets[0].parameters = {"a\"\n"};
  statistics.buckets[0].hidden_seconds = 0.5;
  const auto json = nlohmann::json::parse(to_json(statistics));
  EXPECT_EQ(json["steps"], 3);
  const auto& bucket = json["buckets"][0];
  EXPECT_EQ(bucket["parameters"][0], "a\"\n");
  EXPECT_EQ(bucket["hidden_seconds"], 0.5);
  for (const char* field : {"rows", "values", "sparsified_values", "calls", "dense_calls",
                            "skipped_calls", "clipped_calls", "failed_calls", "density_asked",
                            "density_sent", "mean_density_sent", "build_up", "residual_norm",
                            "bytes_sent", "seconds", "exposed_seconds", "select_seconds"}) {
    EXPECT_TRUE(bucket.contains(field)) << field;
  }
}

TEST(ReducerReport, GoesToMetricsTimelineAndLog) {
  const auto path = std::filesystem::path(testing::TempDir()) / "reducer_report_timeline.json";
  const tandem::test::CapturedLog log(LogFormat::kText);
  expect_all_done(run_groups(1, [&](Group& group) {
    trace::Timeline timeline(path.string());
    trace::TrainingMetrics metrics;
    ReducerOptions options = plain_options("randomk", 0.1);
    options.timeline = &timeline;
    options.metrics = &metrics;
    options.log_every = 2;
    RankReducer reducer(group, options, kReportModel);
    for (int step = 0; step < 5; ++step) reducer.step({{0}, {1}});
    reducer->statistics();
    const std::string text = metrics.text();
    EXPECT_THAT(text, HasSubstr("tandem_training_steps_total 5"));
    EXPECT_THAT(text, HasSubstr("tandem_training_calls_total{bucket=\"a\",result=\"done\"} 5"));
    EXPECT_THAT(text, HasSubstr("tandem_training_density{bucket=\"a\",kind=\"asked\"} 0.1"));
    EXPECT_THAT(text, HasSubstr("tandem_training_density{bucket=\"b\",kind=\"sent\"} 0.1"));
    EXPECT_THAT(text,
                HasSubstr("tandem_training_call_seconds_total{bucket=\"b\",kind=\"hidden\"}"));
    EXPECT_THAT(text, HasSubstr("tandem_training_residual_norm"));
    timeline.close();
  }));
  std::ifstream file(path);
  const auto events = nlohmann::json::parse(file);
  int spans = 0;
  for (const auto& event : events.is_array() ? events : events["traceEvents"]) {
    spans += event.value("ph", "") == "X";
  }
  EXPECT_EQ(spans, 10);
  std::filesystem::remove(path);
  std::size_t lines = 0;
  const std::string told = log.text();
  for (std::size_t at = told.find("[training] steps"); at != std::string::npos;
       at = told.find("[training] steps", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 2u);
  EXPECT_THAT(told, HasSubstr("density_asked=0.1"));
  EXPECT_THAT(told, HasSubstr("step=3"));
}

}  // namespace
}  // namespace tandem::training::test
