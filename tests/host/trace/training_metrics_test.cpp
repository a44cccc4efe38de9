// SPDX-License-Identifier: Apache-2.0
//
// The text that Prometheus reads.
#include "trace/training_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::trace {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TrainingMetrics, AddUpCallsByBucket) {
  TrainingMetrics metrics;
  ReducerCall call;
  call.seconds = 3;
  call.hidden_seconds = 2;
  call.bytes_sent = 10;
  metrics.observe_call("a", call);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("tandem_training_density{")));
  call.sparsified = true;
  call.density_asked = 0.5;
  call.density_sent = 0.25;
  call.build_up = 1.5;
  metrics.observe_call("a", call);
  metrics.count_step();
  metrics.set_residual_norm(7);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("tandem_training_calls_total{bucket=\"a\",result=\"done\"} 2"));
  EXPECT_THAT(text, HasSubstr("tandem_training_sent_bytes_total{bucket=\"a\"} 20"));
  EXPECT_THAT(text, HasSubstr("{bucket=\"a\",kind=\"hidden\"} 4"));
  EXPECT_THAT(text, HasSubstr("{bucket=\"a\",kind=\"exposed\"} 2"));
  EXPECT_THAT(text, HasSubstr("{bucket=\"a\",kind=\"asked\"} 0.5"));
  EXPECT_THAT(text, HasSubstr("{bucket=\"a\",kind=\"sent\"} 0.25"));
  EXPECT_THAT(text, HasSubstr("tandem_training_build_up{bucket=\"a\"} 1.5"));
  EXPECT_THAT(text, HasSubstr("tandem_training_steps_total 1"));
  EXPECT_THAT(text, HasSubstr("tandem_training_residual_norm 7"));
}

TEST(TrainingMetrics, TellResultsApart) {
  TrainingMetrics metrics;
  ReducerCall call;
  call.skipped = true;
  metrics.observe_call("a", call);
  call.failed = true;
  metrics.observe_call("a", call);
  EXPECT_THAT(metrics.text(), HasSubstr("{bucket=\"a\",result=\"skipped\"} 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("{bucket=\"a\",result=\"failed\"} 1"));
}

TEST(TrainingMetrics, CountBucketsBeyondTheirNumberAsOther) {
  TrainingMetrics metrics;
  for (std::size_t i = 0; i < TrainingMetrics::kMaxBuckets + 2; ++i) {
    metrics.observe_call("b" + std::to_string(i), {});
  }
  metrics.observe_call("b0", {});
  EXPECT_THAT(metrics.text(), HasSubstr("{bucket=\"other\",result=\"done\"} 2"));
  EXPECT_THAT(metrics.text(), HasSubstr("{bucket=\"b0\",result=\"done\"} 2"));
}

}  // namespace
}  // namespace tandem::trace
