// SPDX-License-Identifier: Apache-2.0
//
// What the server writes into its log, and what a client cannot make it write.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "host/server/server_fixture.h"
#include "server/http/wire.h"

namespace tandem::server {
namespace {

// Catches the log while it lives.
class CaughtLog {
 public:
  CaughtLog() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream_));
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(logger);
  }
  ~CaughtLog() { spdlog::set_default_logger(before_); }

  std::string text() const { return stream_.str(); }

 private:
  std::ostringstream stream_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(Log, APathCannotStartANewLine) {
  CaughtLog log;
  {
    test::RunningServer running;
    test::HttpClient client(running.port());
    EXPECT_EQ(client.get("/a%0d%0a%1b[31mforged%ff").status, 404);
  }
  EXPECT_NE(log.text().find(R"(/a\x0d\x0a\x1b[31mforged\xff 404)"), std::string::npos)
      << log.text();
}

TEST(Log, PrintableTextIsShortAndUnambiguous) {
  EXPECT_EQ(http::printable("a\tb\\\x7f"), R"(a\x09b\x5c\x7f)");
  EXPECT_EQ(http::printable(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_EQ(http::printable(std::string(200, 'x')), std::string(200, 'x'));
}

std::string log_of_server_at(const std::string& host, std::vector<std::string> keys) {
  CaughtLog log;
  ServerOptions options;
  options.listen.host = host;
  options.routes.api_keys = std::move(keys);
  test::RunningServer running({}, options);
  running.server->stop();
  return log.text();
}

TEST(Log, AnOpenServerWithoutKeysIsWarnedOf) {
  EXPECT_NE(log_of_server_at("0.0.0.0", {}).find("anyone who reaches 0.0.0.0:"), std::string::npos);
  EXPECT_EQ(log_of_server_at("0.0.0.0", {"key"}).find("anyone"), std::string::npos);
  EXPECT_EQ(log_of_server_at("127.0.0.1", {}).find("anyone"), std::string::npos);
}

}  // namespace
}  // namespace tandem::server
