// SPDX-License-Identifier: Apache-2.0
//
// Output of libraries to std::cerr arrives in the log as whole lines.
#include "apps/error_lines.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

namespace tandem::apps {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class ErrorLinesTest : public testing::Test {
 protected:
  ErrorLinesTest() {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_);
    auto logger = std::make_shared<spdlog::logger>("test", sink);
    logger->set_pattern("<%l> %v");
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(logger);
  }
  ~ErrorLinesTest() override { spdlog::set_default_logger(before_); }

  std::ostringstream log_;
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(ErrorLinesTest, AreLoggedWhenTheyAreWhole) {
  ErrorLines lines;
  std::cerr << "["
            << "XRT"
            << "] "
            << "ERROR: "
            << "no bank " << 3;
  EXPECT_EQ(log_.str(), "");
  std::cerr << std::endl;
  EXPECT_EQ(log_.str(), "<error> [XRT] no bank 3\n");
}

TEST_F(ErrorLinesTest, HaveTheSeverityTheyState) {
  ErrorLines lines;
  std::cerr << "[XRT] WARNING: one\n[TANDEM] CRITICAL: two\n[XRT] DEBUG: three\n\nfour\n[five\n";
  EXPECT_EQ(log_.str(),
            "<warning> [XRT] one\n<critical> [TANDEM] two\n<debug> [XRT] three\n<warning> four\n"
            "<warning> [five\n");
}

TEST_F(ErrorLinesTest, OfTheRuntimesIntroductionAreForDebugging) {
  ErrorLines lines;
  std::cerr << "XRT build version: 2.13.0\n"
            << "PID: 1\n"
            << "[now]\n"
            << "EXE: /bin/x" << std::endl;
  std::cerr << "more" << std::endl;
  EXPECT_EQ(log_.str(),
            "<debug> [xrt] XRT build version: 2.13.0\n<debug> [xrt] PID: 1\n<debug> [xrt] [now]\n"
            "<debug> [xrt] EXE: /bin/x\n<warning> more\n");
}

TEST_F(ErrorLinesTest, ThatStateASeverityEndAnIntroductionThatWasCutOff) {
  ErrorLines lines;
  std::cerr << "XRT build version: 2.13.0\nPID: 1\n[XRT] ERROR: no card\nmore" << std::endl;
  EXPECT_EQ(log_.str(),
            "<debug> [xrt] XRT build version: 2.13.0\n<debug> [xrt] PID: 1\n"
            "<error> [XRT] no card\n<warning> more\n");
}

TEST_F(ErrorLinesTest, AreNoIntroductionAfterTenOfOneThatWasCutOff) {
  ErrorLines lines;
  std::cerr << "XRT build version: 2.13.0\n";
  for (int i = 1; i < 10; ++i) std::cerr << "of it\n";
  std::cerr << "more\n";
  EXPECT_THAT(log_.str(), EndsWith("<debug> [xrt] of it\n<warning> more\n"));
}

TEST_F(ErrorLinesTest, WithoutAnEndAreLoggedAtLast) {
  {
    ErrorLines lines;
    std::cerr << "[XRT] ERROR: torn";
    std::thread([] { std::cerr << "off" << std::flush; }).join();
    EXPECT_EQ(log_.str(), "");
  }
  EXPECT_THAT(log_.str(), HasSubstr("<error> [XRT] torn\n"));
  EXPECT_THAT(log_.str(), HasSubstr("<warning> off\n"));
}

TEST_F(ErrorLinesTest, OfSeveralThreadsAreNotMixed) {
  constexpr int kLines = 200;
  {
    ErrorLines lines;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([thread] {
        for (int i = 0; i < kLines; ++i) std::cerr << "[XRT] ERROR: " << thread << "." << i << "\n";
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::istringstream in(log_.str());
  std::string line;
  std::vector<int> next(4, 0);
  while (std::getline(in, line)) {
    int thread = -1, index = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "<error> [XRT] %d.%d", &thread, &index), 2) << line;
    EXPECT_EQ(index, next.at(static_cast<std::size_t>(thread))++);
  }
  EXPECT_EQ(next, std::vector<int>(4, kLines));
}

TEST_F(ErrorLinesTest, LeaveStandardErrorAsItWas) {
  std::ostringstream terminal;
  std::streambuf* const before = std::cerr.rdbuf(terminal.rdbuf());
  {
    ErrorLines lines;
    lines.raw() << "usage" << std::endl;
    std::cerr << "a line" << std::endl;
  }
  std::cerr << "afterwards";
  std::cerr.rdbuf(before);
  EXPECT_EQ(terminal.str(), "usage\nafterwards");
  EXPECT_THAT(log_.str(), HasSubstr("a line"));
  EXPECT_THAT(log_.str(), Not(HasSubstr("usage")));
}

}  // namespace
}  // namespace tandem::apps
