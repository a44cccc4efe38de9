// SPDX-License-Identifier: Apache-2.0
//
// The lines of a card's report, from what a run has met.
#include "emulation/card/units/run_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tandem::emulation {
namespace {

using hls_runtime::RunFindings;
using nlohmann::json;

json parsed_line(const Finding& finding) { return json::parse(json_line(finding)); }

TEST(CardFinding, WhatIsNotKnownIsNull) {
  Finding finding;
  finding.kind = "deadlock";
  finding.severity = "error";
  const json line = parsed_line(finding);
  for (const char* name : {"kernel", "unit", "argument", "file", "line"}) {
    EXPECT_TRUE(line.at(name).is_null()) << name;
  }
  EXPECT_EQ(line.at("message"), "");
}

TEST(CardFinding, AnyTextIsOneLineOfJson) {
  Finding finding;
  finding.kernel = "k\"\\\n\t\x01\xff";
  finding.file = "a b.cpp";
  finding.line = 7;
  finding.more = {{"held", "3"}};
  EXPECT_EQ(json_line(finding).find('\n'), std::string::npos);
  const json line = parsed_line(finding);
  EXPECT_EQ(line.at("kernel"), "k\"\\\n\t\x01\uFFFD");
  EXPECT_EQ(line.at("line"), 7);
  EXPECT_EQ(line.at("held"), 3);
}

TEST(CardFinding, TextKeepsItsLetters) {
  Finding finding;
  finding.message = "größe 大 ";
  EXPECT_EQ(parsed_line(finding).at("message"), "größe 大 ");
}

TEST(CardFinding, ACommandBeyondItsDeadlineTellsWhereItStands) {
  hls_runtime::StandingWait wait;
  wait.process = "take";
  wait.stream = "head";
  wait.for_data = true;
  wait.place = {"k.cpp", 9};
  const json waits = parsed_line(late_finding(std::chrono::milliseconds(1500), {wait}));
  EXPECT_EQ(waits.at("kind"), "never_ends");
  EXPECT_EQ(waits.at("severity"), "error");
  EXPECT_EQ(waits.at("line"), 9);
  EXPECT_NE(waits.at("message").get<std::string>().find("1500 ms"), std::string::npos);
  const json computes = parsed_line(late_finding(std::chrono::milliseconds(1), {}));
  EXPECT_TRUE(computes.at("line").is_null());
  EXPECT_NE(computes.at("message").get<std::string>().find("it computes"), std::string::npos);
}

TEST(CardFinding, IsAppended) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("tandem-findings-" + std::to_string(getpid()) + ".jsonl");
  Finding finding;
  finding.kind = "first";
  EXPECT_TRUE(append_finding(file.string(), finding));
  finding.kind = "second";
  EXPECT_TRUE(append_finding(file.string(), finding));
  std::ifstream in(file);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(json::parse(line).at("kind"), "first");
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(json::parse(line).at("kind"), "second");
  std::filesystem::remove(file);
  EXPECT_FALSE(append_finding("/no/such/folder/report", finding));
}

RunFindings two_standing_waits() {
  RunFindings run;
  run.waits = {{"exchange_1", "left", "back", true, 0, 2, {"k.cpp", 12}},
               {"exchange_1", "right", "forth", false, 2, 2, {"k.cpp", 17}}};
  return run;
}

TEST(RunReport, ADeadlockNamesItsWaits) {
  const auto findings = findings_of(two_standing_waits(), true, "exchange", "exchange_1");
  ASSERT_EQ(findings.size(), 1u);
  const json line = parsed_line(findings[0]);
  EXPECT_EQ(line.at("kind"), "deadlock");
  EXPECT_EQ(line.at("severity"), "error");
  EXPECT_EQ(line.at("kernel"), "exchange");
  EXPECT_EQ(line.at("unit"), "exchange_1");
  EXPECT_EQ(line.at("file"), "k.cpp");
  EXPECT_EQ(line.at("line"), 12);
  EXPECT_NE(line.at("message").get<std::string>().find(
                "process 'right' waits for space in stream 'forth' (k.cpp:17)"),
            std::string::npos);
  const json& cycle = line.at("cycle");
  ASSERT_EQ(cycle.size(), 2u);
  EXPECT_EQ(cycle[0].at("process"), "left");
  EXPECT_EQ(cycle[0].at("waits_for"), "data");
  EXPECT_EQ(cycle[1].at("waits_for"), "space");
  EXPECT_EQ(cycle[1].at("held"), 2);
  EXPECT_EQ(cycle[1].at("line"), 17);
  EXPECT_TRUE(line.at("depths_needed").empty());
}

TEST(RunReport, AProcessThatWaitsAloneForDataReadsBeyondTheLastValue) {
  RunFindings run = two_standing_waits();
  run.waits.pop_back();
  EXPECT_EQ(findings_of(run, true, "k", "u").at(0).kind, "read_empty");
  run.waits[0].for_data = false;
  EXPECT_EQ(findings_of(run, true, "k", "u").at(0).kind, "deadlock");
}

TEST(RunReport, AStreamThatGrewIsADeadlockOfHardware) {
  RunFindings run = two_standing_waits();
  run.depths = {{"forth", {"k.cpp", 5}, 9}, {"other", {}, 3}};
  const auto findings = findings_of(run, false, "exchange", "exchange_1");
  ASSERT_EQ(findings.size(), 1u);
  const json line = parsed_line(findings[0]);
  EXPECT_EQ(line.at("kind"), "deadlock");
  EXPECT_EQ(line.at("severity"), "warning");
  EXPECT_EQ(line.at("depths_needed"), json({{"forth", 9}, {"other", 3}}));
  EXPECT_EQ(line.at("cycle").size(), 2u);
  EXPECT_NE(line.at("message").get<std::string>().find(
                "give stream 'forth' the depth 9 (k.cpp:5), stream 'other' the depth 3"),
            std::string::npos);
}

TEST(RunReport, ValuesLeftInAStreamAreTheirOwnFinding) {
  RunFindings run;
  run.left = {{"values", {"k.cpp", 30}, 4}};
  const auto findings = findings_of(run, false, "k", "u");
  ASSERT_EQ(findings.size(), 1u);
  const json line = parsed_line(findings[0]);
  EXPECT_EQ(line.at("kind"), "leftover_tokens");
  EXPECT_EQ(line.at("stream"), "values");
  EXPECT_EQ(line.at("held"), 4);
  EXPECT_EQ(line.at("line"), 30);
  EXPECT_TRUE(findings_of({}, false, "k", "u").empty());
}

TEST(RunReport, ALinkThatHoldsMoreThanItsDepthStallsItsWriter) {
  const auto message = [](uint64_t held, uint64_t depth) {
    return left_in_link({"link", {}, held}, depth, "reader").message;
  };
  EXPECT_EQ(message(64, 64),
            "stream 'link' ends with 64 values that nobody read; the runs are over, and unit "
            "'reader' could have read them: read as many values as are written");
  EXPECT_EQ(message(1, 0).find("stalls"), std::string::npos);
  EXPECT_NE(message(65, 64).find("the link holds 64, so on hardware its writer stalls"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::emulation
