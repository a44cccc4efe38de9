// SPDX-License-Identifier: Apache-2.0
//
// Generated loads and recorded traces.
#include "simulation/serving/load.h"

#include <gmock/gmock.h>

#include <cmath>

#include <sstream>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

using ::testing::HasSubstr;

std::vector<SimulatedRequest> all_of(Load load) {
  std::vector<SimulatedRequest> requests;
  while (const auto request = load.next()) requests.push_back(*request);
  return requests;
}

TEST(Load, ABatchIsAlwaysFullUntilItsRequestsAreDone) {
  Load load(parse_load("batch:8,prompt=7,output=3"), 1);
  EXPECT_EQ(load.in_flight(), 8);
  const auto requests = all_of(load);
  ASSERT_EQ(requests.size(), 32u);
  EXPECT_EQ(requests[31].prompt, 7);
  EXPECT_EQ(requests[31].output, 3);
}

TEST(Load, PoissonArrivalsHaveTheirRateAndExponentialGaps) {
  const auto requests = all_of(Load(parse_load("poisson:20,requests=20000,prompt=10..20"), 5));
  ASSERT_EQ(requests.size(), 20000u);
  EXPECT_NEAR(requests.back().arrival_s, 1000, 25);
  int longer = 0, least = 99, most = 0;
  double sum = 0;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    ASSERT_GE(requests[i].arrival_s, requests[i - 1].arrival_s);
    longer += requests[i].arrival_s - requests[i - 1].arrival_s > 0.05 ? 1 : 0;
    least = std::min(least, requests[i].prompt), most = std::max(most, requests[i].prompt);
    sum += requests[i].prompt;
  }
  EXPECT_NEAR(longer / 20000.0, std::exp(-1), 0.015) << "gaps above the mean";
  EXPECT_EQ(least, 10);
  EXPECT_EQ(most, 20);
  EXPECT_NEAR(sum / 20000, 15, 0.15);
}

TEST(Load, BurstsComeAtOnceAndSecondsEndThem) {
  const auto requests = all_of(Load(parse_load("burst:3,every=2,seconds=5"), 1));
  ASSERT_EQ(requests.size(), 9u);
  EXPECT_EQ(requests[2].arrival_s, 0);
  EXPECT_EQ(requests[3].arrival_s, 2);
  EXPECT_EQ(requests[8].arrival_s, 4);
}

TEST(Load, DependsOnTheSeedAlone) {
  const LoadSpec spec = parse_load("poisson:3,prompt=1..999,output=1..999,requests=50");
  const auto first = all_of(Load(spec, 4)), again = all_of(Load(spec, 4)),
             other = all_of(Load(spec, 5));
  int equal = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(first[i].arrival_s, again[i].arrival_s);
    EXPECT_EQ(first[i].prompt, again[i].prompt);
    EXPECT_EQ(first[i].output, again[i].output);
    equal += first[i].prompt == other[i].prompt ? 1 : 0;
  }
  EXPECT_LT(equal, 5);
}

TEST(Load, SaysWhatItAssumes) {
  const auto assumed = [](const char* text) { return assumptions_of(parse_load(text)); };
  EXPECT_EQ(assumed("batch:4"), "prompt=512,output=128,requests=16");
  EXPECT_EQ(assumed("poisson:4"), "prompt=512,output=128,requests=1000");
  EXPECT_EQ(assumed("burst:4,seconds=60"), "prompt=512,output=128,every=10");
  EXPECT_EQ(assumed("batch:4,prompt=7,requests=3"), "output=128");
  EXPECT_EQ(assumed("burst:4,prompt=7,output=1..3,every=2,requests=9"), "");
}

TEST(Load, NamesTheNearestWord) {
  const auto refusal = [](const char* text) { return message_of([&] { parse_load(text); }); };
  EXPECT_THAT(refusal("poison:8"), HasSubstr("did you mean 'poisson'?"));
  EXPECT_THAT(refusal("batch:8,promt=7"), HasSubstr("did you mean 'prompt'?"));
}

TEST(Load, SaysWhatIsWrong) {
  const auto refusal = [](const char* text) { return message_of([&] { parse_load(text); }); };
  EXPECT_THAT(refusal("steady:8"), HasSubstr("batch:N, poisson:RATE or burst:N"));
  EXPECT_THAT(refusal("batch"), HasSubstr("number above 0"));
  EXPECT_THAT(refusal("batch:0"), HasSubstr("number above 0"));
  EXPECT_THAT(refusal("batch:nan"), HasSubstr("number above 0"));
  EXPECT_THAT(refusal("batch:1.5"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("batch:1000001"), HasSubstr("at most 1000000 requests come at once"));
  EXPECT_THAT(refusal("burst:1e8"), HasSubstr("at most 1000000 requests come at once"));
  EXPECT_THAT(refusal("batch:8,promt=4"), HasSubstr("known are prompt"));
  EXPECT_THAT(refusal("batch:8,prompt=0"), HasSubstr("lengths are"));
  EXPECT_THAT(refusal("batch:8,prompt=9..4"), HasSubstr("lengths are"));
  EXPECT_THAT(refusal("batch:8,seconds=4"), HasSubstr("ends with its requests"));
  EXPECT_THAT(refusal("poisson:8,requests=0.5"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("batch:8,output=100000001"), HasSubstr("1 to 100000000 tokens"));
}

std::vector<SimulatedRequest> trace_of(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in);
}

TEST(Trace, ReadsPlainAndPublishedForms) {
  const auto plain = trace_of("arrival,prompt,output\n10,5,6\n\n12.5,7,8\r\n");
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[1].arrival_s, 2.5);
  EXPECT_EQ(plain[1].prompt, 7);
  EXPECT_EQ(plain[1].output, 8);
  const auto azure = trace_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2024-02-29 23:59:59.5000000,4808,10\n2024-03-01 00:00:01.2500000,3180,8\n");
  EXPECT_NEAR(azure[1].arrival_s, 1.75, 1e-6);
  EXPECT_EQ(azure[0].prompt, 4808);
  const auto burst = trace_of(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n6,ChatGPT,9,0,9,Conversation log\n"
      "45,GPT-4,11,12,23,API log\n");
  ASSERT_EQ(burst.size(), 2u) << "one failed";
  EXPECT_EQ(burst[1].arrival_s, 40);
  EXPECT_EQ(burst[1].output, 12);
}

TEST(Trace, BeginsWithItsFirstRequest) {
  const auto requests = trace_of("arrival,prompt,output\n\n\n10,5,6\n12,5,6\n");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].arrival_s, 0);
  EXPECT_EQ(requests[1].arrival_s, 2);
}

TEST(Trace, ReadsTimeZones) {
  const auto requests = trace_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.500000+00:00,1,1\n"
      "2024-05-10 00:00:01.500000Z,1,1\n2024-05-10 02:30:03.500000+02:30,1,1\n"
      "2024-05-09 17:00:04.5-07:00,1,1\n");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(requests[i].arrival_s, i + (i == 2), 1e-4);
  EXPECT_NEAR(requests[3].arrival_s, 4, 1e-4);
  for (const char* zone : {"+0000", "+25:00", "+00:60", "+aa:00", "Zulu", "+00:0x"}) {
    EXPECT_THAT(
        message_of([&] {
          trace_of("arrival,prompt,output\n2024-05-10 00:00:00" + std::string(zone) + ",1,1\n");
        }),
        HasSubstr("neither seconds nor a date"))
        << zone;
  }
}

TEST(Trace, IsRefusedWithTheLine) {
  const auto refusal = [](const std::string& lines) {
    return message_of([&] { trace_of("arrival,prompt,output\n" + lines); });
  };
  EXPECT_THAT(refusal("1,2,3\n0.5,2,3\n"), HasSubstr("line 3: its time is before"));
  EXPECT_THAT(refusal("1,2,3\n-1,2,3\n"), HasSubstr("line 3: the time -1 is negative"));
  EXPECT_THAT(refusal("soon,2,3\n"), HasSubstr("line 2: 'soon' is neither"));
  EXPECT_THAT(refusal("1,2\n"), HasSubstr("line 2: 2 fields, but the header has 3"));
  EXPECT_THAT(refusal("1,0,3\n"), HasSubstr("line 2: '0' is not a number of tokens"));
  EXPECT_THAT(refusal("1,2,-3\n"), HasSubstr("line 2: '-3'"));
  EXPECT_THAT(refusal("nan,2,3\n"), HasSubstr("line 2: 'nan'"));
  EXPECT_THAT(refusal("2024-13-01 00:00:00,2,3\n"), HasSubstr("line 2"));
  EXPECT_THAT(refusal("2023-02-29 00:00:00,2,3\n"), HasSubstr("neither seconds nor a date"));
  EXPECT_THAT(refusal("2023-02-28 24:00:00,2,3\n"), HasSubstr("neither seconds nor a date"));
  EXPECT_THAT(refusal("2023-02-28 00:-1:00,2,3\n"), HasSubstr("neither seconds nor a date"));
  EXPECT_THAT(refusal("1,100000001,3\n"), HasSubstr("at most 100000000"));
  EXPECT_THAT(refusal(""), HasSubstr("no requests"));
  EXPECT_THAT(message_of([] { trace_of(""); }), HasSubstr("empty"));
  EXPECT_THAT(message_of([] { trace_of("a,b\n1,2\n"); }), HasSubstr("line 1: the header"));
}

}  // namespace
}  // namespace tandem::simulation
