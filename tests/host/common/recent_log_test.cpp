// SPDX-License-Identifier: Apache-2.0
//
// The last lines of the log: how many are kept, and that the other sinks still get all lines.
#include "common/recent_log.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <sstream>
#include <thread>

#include "common/log_event.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(RecentLog, KeepsTheLastLinesAsTheLogHasThem) {
  const auto before = spdlog::default_logger();
  std::ostringstream out;
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "recent", std::make_shared<spdlog::sinks::ostream_sink_mt>(out)));
  keep_recent_log(2);
  use_log_format(LogFormat::kText);
  for (const char* text : {"one", "two", "three"}) spdlog::info(text);
  EXPECT_THAT(recent_log(), ElementsAre(EndsWith(" info two"), EndsWith(" info three")));
  EXPECT_THAT(out.str(), HasSubstr(" info one\n"));
  const std::array<LogField, 1> fields = {{{"route", "/v1/models"}}};
  log_event(LogLevel::kInfo, "four", fields);
  std::vector<std::string> lines;
  std::thread([&] { lines = recent_log(); }).join();
  EXPECT_THAT(lines.back(), HasSubstr("/v1/models"));
  spdlog::set_default_logger(before);
}

}  // namespace
}  // namespace tandem
