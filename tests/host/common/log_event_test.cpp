// SPDX-License-Identifier: Apache-2.0
//
// Log lines as text and as JSON: zone, fields, and text of clients that tries to forge lines.
#include "common/log_event.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "support/captured_log.h"

namespace tandem {
namespace {

using test::CapturedLog;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(LogEvent, TextNamesTimeWithItsZone) {
  CapturedLog log(LogFormat::kText);
  spdlog::info("[test] plain");
  EXPECT_THAT(log.text(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}[+-]"
                           "[0-9]{2}:[0-9]{2} info \\[test\\] plain\n"));
}

TEST(LogEvent, TextPutsFieldsBehindTheMessageAndOnlyThere) {
  CapturedLog log(LogFormat::kText);
  const LogField fields[] = {{"id", "a1"}, {"status", std::int64_t{200}}, {"seconds", 0.25}};
  log_event(LogLevel::kInfo, "[test] done", fields);
  spdlog::info("[test] next");
  EXPECT_THAT(log.text(), HasSubstr("info [test] done id=a1 status=200 seconds=0.250000\n"));
  EXPECT_THAT(log.text(), HasSubstr("[test] next\n"));
}

TEST(LogEvent, AValueInTextCannotStartALineNorAField) {
  CapturedLog log(LogFormat::kText);
  const LogField fields[] = {{"path", "/a\n2026 info forged=1 \x1b[2J\"\\\xff"}, {"empty", ""}};
  log_event(LogLevel::kInfo, "m", fields);
  EXPECT_THAT(log.text(), HasSubstr(R"(m path="/a\n2026 info forged=1 \x1b[2J\"\\\xff" empty="")"));
  const std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(LogEvent, JsonIsOneObjectPerLineWhateverTheTextHolds) {
  CapturedLog log(LogFormat::kJson);
  const std::string hostile = "\"},{\"a\n\t\x01\x7f\\\xff\xc3\xa4";
  const LogField fields[] = {{"path", hostile}, {"status", std::int64_t{404}}, {"seconds", 1.5}};
  log_event(LogLevel::kWarn, "[test] message", fields);
  spdlog::error("[test] {}", hostile);
  std::istringstream lines(log.text());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const auto event = nlohmann::json::parse(line);
  EXPECT_EQ(event["message"], "[test] message");
  EXPECT_EQ(event["level"], "warning");
  EXPECT_EQ(event["path"], "\"},{\"a\n\t\x01\x7f\\\xef\xbf\xbd\xc3\xa4");
  EXPECT_EQ(event["status"], 404);
  EXPECT_EQ(event["seconds"], 1.5);
  EXPECT_THAT(event["time"].get<std::string>(), MatchesRegex(".*[+-][0-9]{2}:[0-9]{2}"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["message"],
            "[test] \"},{\"a\n\t\x01\x7f\\\xef\xbf\xbd\xc3\xa4");
  EXPECT_FALSE(nlohmann::json::parse(line).contains("path")) << "fields belong to their event";
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(LogEvent, FieldsOfOneThreadStayOutOfTheLinesOfAnother) {
  CapturedLog log(LogFormat::kText);
  const LogField fields[] = {{"id", "mine"}};
  std::thread other([] {
    for (int i = 0; i < 200; ++i) spdlog::info("[other]");
  });
  for (int i = 0; i < 200; ++i) log_event(LogLevel::kInfo, "[event]", fields);
  other.join();
  EXPECT_THAT(log.text(), Not(HasSubstr("[other] id")));
  EXPECT_THAT(log.text(), Not(HasSubstr("[event]\n")));
}

// A test's own tool: a server's thread still logs the request whose answer the test has.
TEST(CapturedLog, AnotherThreadMayLogWhileCapturesComeAndGo) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) spdlog::debug("[other]");
  });
  for (int i = 0; i < 200; ++i) {
    CapturedLog log(LogFormat::kText, true);
    while (log.text().empty()) std::this_thread::yield();
  }
  done = true;
  other.join();
  CapturedLog log(LogFormat::kText);
  spdlog::debug("[other]");
  EXPECT_EQ(log.text(), "") << "a capture begins empty, at its own level";
}

TEST(LogEvent, EventsBelowTheLevelLeaveNoLine) {
  CapturedLog log(LogFormat::kText);
  log_event(LogLevel::kDebug, "quiet", {});
  EXPECT_EQ(log.text(), "");
}

TEST(Printable, EscapesWhatATerminalOrALogReaderWouldObey) {
  EXPECT_EQ(printable("/v1/models"), "/v1/models");
  EXPECT_EQ(printable("a\r\nb\x1b[31m\x7f\"\\"), "a\\x0d\\nb\\x1b[31m\\x7f\\\"\\\\");
  EXPECT_EQ(printable("caf\xc3\xa9 \xff \xc2\x9b"), "caf\xc3\xa9 \\xff \\xc2\\x9b");
  EXPECT_EQ(printable(std::string(300, 'x')), std::string(256, 'x') + "...");
}

}  // namespace
}  // namespace tandem
