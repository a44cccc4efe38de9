// SPDX-License-Identifier: Apache-2.0
//
// What the server writes into its log, and what a client cannot make it write.
#include <gtest/gtest.h>

#include "host/server/event_log.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

TEST(Log, APathCannotStartANewLine) {
  const test::EventLog log(LogFormat::kText, true);
  {
    test::RunningServer running;
    test::HttpClient client(running.port());
    EXPECT_EQ(client.get("/a%0d%0a%1b[31mforged%ff").status, 404);
  }
  EXPECT_NE(log.text().find(R"(GET /a\x0d\n\x1b[31mforged\xff from)"), std::string::npos)
      << log.text();
}

std::string log_of_server_at(const std::string& host, std::vector<ApiKey> keys) {
  const test::EventLog log(LogFormat::kText, true);
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
