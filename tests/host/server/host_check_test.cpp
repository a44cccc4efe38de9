// SPDX-License-Identifier: Apache-2.0
//
// A server without keys answers only to names that no web page can point to this machine.
#include "server/host_check.h"

#include <gtest/gtest.h>

#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

TEST(HostCheck, TakesLoopbackNamesAddressesAndConfiguredNames) {
  const HostCheck check({"ai.example"});
  for (const char* host : {"localhost", "localhost:8080", "LocalHost", "localhost.",
                           "a.localhost:1", "127.0.0.1", "10.1.2.3:8080", "[::1]:8080", "[fe80::1]",
                           "ai.example", "AI.example:443", "ai.example."}) {
    EXPECT_TRUE(check.accepts(host)) << host;
  }
  for (const char* host : {"",
                           "evil.example",
                           "evil.example:8080",
                           "localhost.evil.example",
                           "notlocalhost",
                           ".localhost",
                           "xlocalhost",
                           "127.0.0.1.evil.example",
                           "127.1",
                           "2130706433",
                           "[::1",
                           "[::1]x",
                           "[127.0.0.1]",
                           "::1",
                           "localhost:80:90",
                           "localhost:x",
                           "x.ai.example",
                           "ai.example@evil.example",
                           ":80",
                           "[]",
                           "0x7f.0.0.1"}) {
    EXPECT_FALSE(check.accepts(host)) << host;
  }
}

TEST(HostCheck, AStarLetsEveryNamePass) {
  EXPECT_TRUE(HostCheck({"*"}).accepts("evil.example"));
  EXPECT_FALSE(HostCheck({"*"}).accepts(""));
}

int status_for(const test::RunningServer& running, const std::string& host,
               const std::string& path = "/v1/models", const std::string& headers = {}) {
  test::HttpClient client(running.port());
  client.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
  return client.read_reply().status;
}

TEST(HostCheck, WithoutKeysARequestToAForeignNameIsRefused) {
  test::RunningServer running;
  EXPECT_EQ(status_for(running, "localhost:1"), 200);
  EXPECT_EQ(status_for(running, "evil.example"), 403);
  EXPECT_EQ(status_for(running, "localhost", "http://evil.example/v1/models"), 403)
      << "the name in the target counts";
  EXPECT_EQ(status_for(running, "evil.example", "/livez"), 200);
  test::HttpClient client(running.port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: evil.example\r\nContent-Type: "
      "application/json\r\nContent-Length: 2\r\n\r\n{}");
  const test::Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(test::error_of(reply)["code"], "host_not_allowed");
  EXPECT_NE(reply.body.find("evil.example"), std::string::npos);
}

TEST(HostCheck, AClientOfVersionOneZeroNeedNotNameAHost) {
  test::RunningServer running;
  test::HttpClient client(running.port());
  client.send("GET /v1/models HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST(HostCheck, AKeyIsProofEnough) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  test::RunningServer running({}, options);
  EXPECT_EQ(status_for(running, "ai.example", "/v1/models", "Authorization: Bearer secret\r\n"),
            200);
  EXPECT_EQ(status_for(running, "ai.example"), 401);
}

}  // namespace
}  // namespace tandem::server
