// SPDX-License-Identifier: Apache-2.0
//
// Traces as they are written, and the lines of those that are wrong.
#include "planner/pipeline/layer_trace.h"

#include <gmock/gmock.h>

#include <sstream>

#include "host/planner/message_of.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LayerTrace trace_of(const std::string& text) {
  std::istringstream in(text);
  return read_layer_trace(in);
}

std::vector<std::int64_t> times_of(const std::string& text) {
  const LayerTrace trace = trace_of(text);
  std::vector<std::int64_t> times;
  for (const LayerCost& layer : trace.steps.back().layers) times.push_back(layer.time_ps);
  return times;
}

std::string refused(const std::string& text) {
  return message_of([&] { trace_of(text); });
}

TEST(LayerTrace, ReadsNamedColumnsInAnyOrder) {
  const LayerTrace trace =
      trace_of("Bytes, loss ,layer,\"time_us\"\r\n100,0.5,embed,12.5\n\n7,0.4,head,3\n");
  EXPECT_THAT(trace.layer_names, ElementsAre("embed", "head"));
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].name, "");
  EXPECT_EQ(trace.steps[0].layers[0].time_ps, 12'500'000);
  EXPECT_EQ(trace.steps[0].layers[0].bytes, 100);
  EXPECT_EQ(trace.steps[0].layers[1].bytes, 7);
}

TEST(LayerTrace, UnitsAreThoseOfTheColumn) {
  EXPECT_THAT(times_of("time_ns\n1500"), ElementsAre(1'500'000));
  EXPECT_THAT(times_of("us\n1500"), ElementsAre(1'500'000'000));
  EXPECT_THAT(times_of("duration\n1"), ElementsAre(1'000'000));
  EXPECT_THAT(times_of("layer_time_ms\n0.25"), ElementsAre(250'000'000));
  EXPECT_THAT(times_of("cost_s\n0.000123456789"), ElementsAre(123'456'789));
}

TEST(LayerTrace, ForwardAndBackwardAreAdded) {
  EXPECT_THAT(times_of("forward_us,backward_ms\n3,0.002\n1,0\n"),
              ElementsAre(5'000'000, 1'000'000));
}

TEST(LayerTrace, WithoutAHeaderTheNumberOfFieldsDecides) {
  EXPECT_THAT(times_of("1\n2\n"), ElementsAre(1'000'000, 2'000'000));
  EXPECT_THAT(times_of("a,3\nb,4\n"), ElementsAre(3'000'000, 4'000'000));
  EXPECT_EQ(trace_of("a,3,50\n").steps[0].layers[0].bytes, 50);
  EXPECT_THAT(trace_of("1\n2\n").layer_names, ElementsAre("0", "1"));
  EXPECT_THAT(trace_of("a,3\n").layer_names, ElementsAre("a"));
}

TEST(LayerTrace, StepsHaveTheSameLayers) {
  const LayerTrace trace = trace_of("step,layer,time_us\n0,a,1\n0,b,2\n100,a,3\n100,b,4\n");
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[1].name, "100");
  EXPECT_EQ(trace.steps[1].layers[0].time_ps, 3'000'000);
  EXPECT_THAT(trace.layer_names, ElementsAre("a", "b"));
  const std::string first = "step,layer,time_us\n0,a,1\n0,b,2\n1,a,3\n";
  EXPECT_THAT(refused(first), HasSubstr("line 4: step '1' ends with 1 of 2 layers"));
  EXPECT_THAT(refused(first + "2,a,1\n"), HasSubstr("line 5: step '1' ends with 1 of 2 layers"));
  EXPECT_THAT(refused(first + "1,c,1\n"),
              HasSubstr("line 5: layer 'c' stands where the first step has 'b'"));
  EXPECT_THAT(refused(first + "1,b,1\n1,c,1\n"), HasSubstr("line 6: step '1' has more layers"));
  EXPECT_THAT(refused(first + "1,b,1\n0,a,1\n"), HasSubstr("line 6: step '0' is in two places"));
}

TEST(LayerTrace, WrongLinesAreNamed) {
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refused("time_us\n"), HasSubstr("the file has no layers"));
  EXPECT_THAT(refused("layer,width\na,1\n"),
              HasSubstr("line 1: the header has no column of times"));
  EXPECT_THAT(refused("a,b,c,1\n"), HasSubstr("line 1: the header has no column of times"));
  EXPECT_THAT(refused("\ntime_us\n1\nx\n"), HasSubstr("line 4: the time 'x' is not a number"));
  EXPECT_THAT(refused("time_us\n-1\n"), HasSubstr("line 2: the time '-1' is negative"));
  EXPECT_THAT(refused("time_us\nnan\n"), HasSubstr("line 2: the time 'nan' is not a number"));
  EXPECT_THAT(refused("time_s\n1e9\n"), HasSubstr("line 2: the time '1e9' is longer than"));
  EXPECT_THAT(refused("time_us,bytes\n1,x\n"), HasSubstr("line 2: 'x' is not a number of bytes"));
  EXPECT_THAT(refused("time_us,bytes\n1,-4\n"), HasSubstr("line 2: '-4' is not a number of bytes"));
  EXPECT_THAT(refused("layer,time_us\na,1\nb\n"),
              HasSubstr("line 3: 1 fields, but the first line has 2"));
  EXPECT_THAT(refused("layer,time_us\na,1\na,2\n"), HasSubstr("line 3: layer 'a' exists already"));
}

}  // namespace
}  // namespace tandem::planner
