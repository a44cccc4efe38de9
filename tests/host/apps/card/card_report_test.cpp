// SPDX-License-Identifier: Apache-2.0
//
// The report of emulated cards: read, and written for people, GitHub and editors.
#include "apps/card/card_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace tandem::apps {
namespace {

const std::string kDeadlockLine =
    R"({"kind": "deadlock", "severity": "error", "kernel": "trial", "unit": "trial_1", "argument": null, )"
    R"("file": "/ws/src/k.cpp", "line": 12, "message": "nobody, 100% stuck", )"
    R"("cycle": [{"unit": "trial_1", "process": "give", "stream": "head", "waits_for": "space", "held": 8, )"
    R"("depth": 8, "file": "/ws/src/k.cpp", "line": 12}], "depths_needed": {"head": 64}})";
const std::string kLeftLine =
    R"({"kind": "leftover_tokens", "severity": "warning", "kernel": "trial", "unit": null, "argument": null, )"
    R"("file": null, "line": null, "message": "2 values"})";

class CardReport : public testing::Test {
 protected:
  CardReport() : path_(testing::TempDir() + "/card_report." + std::to_string(getpid())) {}
  ~CardReport() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::vector<CardFinding> read(std::uint64_t begin_bytes = 0) {
    return read_card_report(path_, begin_bytes, true);
  }
  std::string problem(const std::string& text) {
    write(text);
    try {
      (void)read();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  std::string path_;
};

TEST_F(CardReport, EqualLinesAreOneFindingWithACount) {
  write(kLeftLine + "\n" + kDeadlockLine + "\n\n" + kLeftLine + "\n");
  const std::vector<CardFinding> findings = read();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].kind, "leftover_tokens");
  EXPECT_EQ(findings[0].count, 2);
  EXPECT_EQ(findings[0].file, "");
  EXPECT_EQ(findings[0].line, 0);
  EXPECT_EQ(findings[1].line, 12);
  EXPECT_EQ(findings[1].unit, "trial_1");
  EXPECT_EQ(summary_text(findings), "2 bugs: 1 error, 1 warning");
}

TEST_F(CardReport, LinesBeforeTheBeginBelongToAnEarlierRun) {
  write(kLeftLine + "\n" + kDeadlockLine + "\n");
  const std::vector<CardFinding> findings = read(kLeftLine.size() + 1);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "deadlock");
}

TEST_F(CardReport, WhatIsNoFindingIsToldWithItsLine) {
  EXPECT_NE(problem(kLeftLine + "\n{\"kind\": \"dead").find(":2: not a line of JSON"),
            std::string::npos);
  EXPECT_NE(problem("[1]\n").find(":1: no finding of a card"), std::string::npos);
  EXPECT_NE(problem("{\"line\": 3}\n").find(":1: no finding of a card"), std::string::npos);
  EXPECT_EQ(problem("\n"), "");
  EXPECT_THROW(read_card_report("/nowhere/report", 0, true), Error);
  EXPECT_TRUE(read_card_report("/nowhere/report", 0, false).empty());
}

TEST_F(CardReport, TheTextHasPlaceWaitsDepthsAndAdvice) {
  write(kDeadlockLine + "\n" + kDeadlockLine + "\n");
  EXPECT_EQ(finding_text(read().at(0), ""),
            "/ws/src/k.cpp:12: error: deadlock in kernel 'trial', unit 'trial_1' (2 times): "
            "nobody, 100% stuck\n"
            "    process 'give' waits for space in stream 'head', which holds 8 of 8: "
            "/ws/src/k.cpp:12\n"
            "    stream 'head' passes with depth 64\n"
            "    what to do: " +
                card_advice("deadlock") + "\n");
  write(kLeftLine + "\n");
  EXPECT_EQ(finding_text(read().at(0), ""),
            "warning: leftover_tokens in kernel 'trial': 2 values\n    what to do: " +
                card_advice("leftover_tokens") + "\n");
}

TEST_F(CardReport, TheTextNamesFilesOfTheFolderWithoutIt) {
  std::string line = kDeadlockLine;
  line.replace(line.find("nobody, 100% stuck"), 18, "see /ws/a.h:3 and /ws/../ws/b.h and x/ws/c.h");
  write(line + "\n");
  const std::string text = finding_text(read().at(0), "/ws");
  EXPECT_TRUE(text.starts_with("src/k.cpp:12: error: deadlock")) << text;
  EXPECT_NE(text.find("8 of 8: src/k.cpp:12\n"), std::string::npos) << text;
  EXPECT_NE(text.find("see a.h:3 and ../ws/b.h and x/ws/c.h"), std::string::npos) << text;
  EXPECT_TRUE(finding_text(read().at(0), "/w").starts_with("/ws/src/k.cpp:12:"));
  EXPECT_TRUE(finding_text(read().at(0), "/ws/sr").starts_with("/ws/src/k.cpp:12:"));
}

TEST_F(CardReport, ARingWithoutValuesIsNotAdvisedToHaveDepths) {
  std::string ring = kDeadlockLine;
  ring.replace(ring.find("{\"head\": 64}"), 12, "{}");
  write(ring + "\n");
  const CardFinding finding = read().at(0);
  EXPECT_NE(card_advice(finding).find("no depths help"), std::string::npos);
  EXPECT_NE(finding_text(finding, "").find(card_advice(finding)), std::string::npos);
  EXPECT_EQ(findings_json({finding}).at("findings").at(0).at("advice"), card_advice(finding));
}

TEST_F(CardReport, EveryKindHasAdvice) {
  for (const char* kind :
       {"out_of_bounds", "use_after_free", "misaligned", "uninitialised_memory", "race",
        "wrong_bank", "missing_sync_to_device", "missing_sync_from_device", "bad_argument",
        "deadlock", "leftover_tokens", "read_empty", "never_ends", "local_out_of_bounds",
        "division_by_zero", "dependence_violated", "missing_wait", "uninitialised_local"}) {
    EXPECT_FALSE(card_advice(kind).empty()) << kind;
  }
  EXPECT_EQ(card_advice("another"), "");
}

// One kind has several causes, so its advice must suit each of them.
TEST_F(CardReport, TheAdviceSuitsEveryCauseOfItsKind) {
  for (const auto& [kind, words] : {std::pair{"race", "wait() between runs"},
                                    {"out_of_bounds", "or bound the loop"},
                                    {"out_of_bounds", "look for a negative index"},
                                    {"race", "barrier() between work-items"},
                                    {"missing_wait", "call run.wait() before the sync"},
                                    {"missing_wait", "only if it returns ERT_CMD_STATE_COMPLETED"},
                                    {"deadlock", "inside a kernel #pragma HLS stream"},
                                    {"deadlock", "between kernels stream_connect=FROM:TO:DEPTH"},
                                    {"never_ends", "a loop, or an access to a stream"}}) {
    EXPECT_NE(card_advice(kind).find(words), std::string::npos) << kind << ": " << words;
  }
  EXPECT_EQ(card_advice("never_ends").find("place"), std::string::npos) << "often none is known";
}

TEST_F(CardReport, AnAnnotationEscapesAndNamesFilesOfTheWorkspace) {
  write(kDeadlockLine + "\n" + kLeftLine + "\n");
  const std::vector<CardFinding> findings = read();
  EXPECT_EQ(github_annotation(findings[0], "/ws"),
            "::error file=src/k.cpp,line=12,title=deadlock::kernel 'trial', unit 'trial_1': "
            "nobody, 100%25 stuck");
  EXPECT_EQ(github_annotation(findings[0], "/w"),
            "::error file=/ws/src/k.cpp,line=12,title=deadlock::kernel 'trial', unit 'trial_1': "
            "nobody, 100%25 stuck");
  EXPECT_EQ(github_annotation(findings[1], "/ws"),
            "::warning title=leftover_tokens::kernel 'trial': 2 values");
}

TEST_F(CardReport, JsonKeepsTheMembersAndAddsCountAndAdvice) {
  write(kDeadlockLine + "\n" + kDeadlockLine + "\n");
  const auto json = findings_json(read());
  EXPECT_EQ(json.at("errors"), 1);
  EXPECT_EQ(json.at("warnings"), 0);
  const auto& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("depths_needed").at("head"), 64);
  EXPECT_EQ(finding.at("count"), 2);
  EXPECT_EQ(finding.at("advice"), card_advice("deadlock"));
}

TEST_F(CardReport, SarifHasARulePerKindAndAPlacePerResult) {
  write(kDeadlockLine + "\n" + kLeftLine + "\n");
  const auto sarif = findings_sarif(read(), "1.2");
  EXPECT_EQ(sarif.at("version"), "2.1.0");
  const auto& run = sarif.at("runs").at(0);
  EXPECT_EQ(run.at("tool").at("driver").at("rules").size(), 2u);
  EXPECT_EQ(run.at("tool").at("driver").at("version"), "1.2");
  const auto& result = run.at("results").at(0);
  EXPECT_EQ(result.at("ruleId"), "deadlock");
  EXPECT_EQ(result.at("level"), "error");
  const auto& place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "file:///ws/src/k.cpp");
  EXPECT_EQ(place.at("region").at("startLine"), 12);
  EXPECT_FALSE(run.at("results").at(1).contains("locations"));
}

}  // namespace
}  // namespace tandem::apps
