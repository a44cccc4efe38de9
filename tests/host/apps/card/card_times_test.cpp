// SPDX-License-Identifier: Apache-2.0
//
// Modelled times in a report: read beside findings, told for people and as JSON.
#include "apps/card/card_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/card/card_report.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

std::string run_line(double us, const std::string& limit) {
  return R"({"kind": "run_time", "severity": "note", "kernel": "k", "unit": "k_1", "message": "m", "modelled_us": )" +
         std::to_string(us) + R"(, "modelled_us_low": 1, "modelled_us_high": 50, "limit": ")" +
         limit +
         R"(", "why": "II 6: fadd", "unknown": ["the latency of f is not known"], )"
         R"("loops": [{"file": "/a/k.cpp", "line": 7, "entries": 1, "trips": 100, "ii": 6, "depth": 8, )"
         R"("cycles": 602, "why": "fadd"}], "ports": [{"argument": "in", "bank": "HBM[0]", )"
         R"("direction": "read", "bytes": 400, "bursts": 1, "bandwidth": 0.25, "share_of_peak": 0.02}]})";
}

class CardTimes : public testing::Test {
 protected:
  CardTimes() : path_(testing::TempDir() + "/card_times." + std::to_string(getpid())) {}
  ~CardTimes() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string path_;
};

TEST_F(CardTimes, AreNoFindings) {
  write(run_line(10, "loop k.cpp:7") + "\n" + R"({"kind": "race", "message": "run_time"})" + "\n");
  const auto findings = read_card_report(path_, 0, true);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "race");
  EXPECT_EQ(read_card_times(path_, 0).size(), 1u);
  EXPECT_TRUE(read_card_times(path_, 10).empty());
  EXPECT_TRUE(read_card_times(path_ + ".none", 0).empty());
  write("{\"kind\": \"run_time\"");
  EXPECT_THROW((void)read_card_times(path_, 0), Error);
}

TEST_F(CardTimes, TheLongestRunTellsForItsUnit) {
  write(run_line(10, "launch") + "\n" + run_line(30, "loop k.cpp:7") + "\n");
  EXPECT_EQ(times_text(read_card_times(path_, 0)),
            "kernel 'k', unit 'k_1': 2 runs, modelled 40.000 us (2.000 to 100.000)\n"
            "    limited by loop k.cpp:7: II 6: fadd\n"
            "    loop k.cpp:7: II 6, depth 8, 100 iterations in 1 run: 602 cycles; fadd\n"
            "    port in (HBM[0], read): 400 bytes in 1 burst, 0.25 GB/s, 2% of the bank\n"
            "    not known: the latency of f is not known\n");
}

TEST_F(CardTimes, AReportHasAllRunsAndTheLongestOnesParts) {
  write(run_line(10, "launch") + "\n" + run_line(30, "loop k.cpp:7") + "\n");
  nlohmann::ordered_json report;
  add_times({}, report);
  EXPECT_TRUE(report.is_null());
  add_times(read_card_times(path_, 0), report);
  EXPECT_EQ(report["modelled_us"], 40);
  EXPECT_EQ(report["limit"], "loop k.cpp:7");
  EXPECT_EQ(report["loops"][0]["ii"], 6);
  EXPECT_EQ(report["ports"][0]["bandwidth"], 0.25);
  EXPECT_EQ(report["runs"].size(), 2u);
}

}  // namespace
}  // namespace tandem::apps
