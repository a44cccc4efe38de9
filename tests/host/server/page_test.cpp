// SPDX-License-Identifier: Apache-2.0
//
// The page /ui over real sockets: its headers, that its links resolve, and who gets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "host/server/server_fixture.h"
#include "server/web/web_page.h"

namespace tandem::server {
namespace {

using test::error_of;
using test::HttpClient;
using test::Reply;
using test::RunningServer;

// "name:secret" and "secret" alone, as RFC 7617 writes them.
constexpr const char* kBasicSecret = "Authorization: Basic bmFtZTpzZWNyZXQ=\r\n";
constexpr const char* kBasicWithoutName = "Authorization: Basic c2VjcmV0\r\n";

ServerOptions with_page() {
  ServerOptions options;
  options.routes.serves_page = true;
  return options;
}

TEST(Page, ComesWithAPolicyThatForbidsWhatIsNotItsOwn) {
  RunningServer running({}, with_page());
  HttpClient client(running.port());
  const Reply page = client.get("/ui");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(page.headers.at("referrer-policy"), "no-referrer");
  const std::string policy = page.headers.at("content-security-policy");
  EXPECT_THAT(policy, testing::StartsWith("default-src 'none'; script-src 'self'; "));
  EXPECT_THAT(policy, testing::HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, testing::Not(testing::HasSubstr("unsafe")));
  EXPECT_EQ(client.get("/ui/style.css").headers.at("content-type"), "text/css; charset=utf-8");
  EXPECT_EQ(client.get("/ui/app.js").headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(client.get("/ui/icon.svg").headers.at("content-type"), "image/svg+xml");
}

TEST(Page, EveryFileIsReachedAndEveryLinkResolves) {
  RunningServer running({}, with_page());
  HttpClient client(running.port());
  static const std::regex link("(?:href|src)=\"/ui/([^\"]+)\"|from \"\\./([^\"]+)\"");
  std::set<std::string> reached = {"index.html",
                                   "training.html"};  // the daemon's and the trainer's
  std::vector<std::string> left(reached.begin(), reached.end());
  while (!left.empty()) {
    const Reply file = client.get("/ui/" + left.back());
    ASSERT_EQ(file.status, 200) << left.back();
    left.pop_back();
    for (std::sregex_iterator at(file.body.begin(), file.body.end(), link), end; at != end; ++at) {
      const std::string name = (*at)[1].matched ? (*at)[1] : (*at)[2];
      if (reached.insert(name).second) left.push_back(name);
    }
  }
  EXPECT_EQ(reached.size(), web_files().size());
}

TEST(Page, WhatItLacksIsNotFound) {
  RunningServer running({}, with_page());
  HttpClient client(running.port());
  for (const char* path : {"/ui/none.js", "/ui/../status", "/ui//app.js", "/uix"}) {
    const Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 404) << path;
  }
  EXPECT_EQ(client.post("/ui", std::string("{}")).status, 405);
}

// A browser that gave its key for "/ui/" would not send it to "/status".
TEST(Page, OfTheFolderMovesBeforeABrowserIsAskedForAKey) {
  ServerOptions options = with_page();
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (const char* path : {"/ui/", "/ui/?key=1"}) {
    const Reply moved = client.get(path);
    EXPECT_EQ(moved.status, 308) << path;
    EXPECT_EQ(moved.headers.at("location"), "/ui");
    EXPECT_EQ(moved.headers.count("www-authenticate"), 0u);
  }
  RunningServer without;
  EXPECT_EQ(HttpClient(without.port()).get("/ui/").status, 404);
}

TEST(Page, IsOffUnlessAskedFor) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply = client.get("/ui");
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(error_of(reply)["message"].text(), testing::HasSubstr("--ui"));
  EXPECT_EQ(client.get("/ui/app.js").status, 404);
}

TEST(Page, NeedsTheSameKeysAndABrowserIsAskedForThem) {
  ServerOptions options = with_page();
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (const char* path : {"/ui", "/ui/app.js"}) {
    const Reply refused = client.get(path);
    EXPECT_EQ(refused.status, 401);
    EXPECT_THAT(refused.headers.at("www-authenticate"), testing::StartsWith("Basic realm="));
    EXPECT_EQ(client.get(path, "Authorization: Bearer secret\r\n").status, 200);
    EXPECT_EQ(client.get(path, kBasicSecret).status, 200);
  }
  EXPECT_EQ(client.get("/v1/models", kBasicSecret).status, 200);
  EXPECT_EQ(client.get("/v1/models").headers.at("www-authenticate"), "Bearer");
}

TEST(Page, IsToldWhichRoutesItMayAsk) {
  ServerOptions options = with_page();
  RunningServer open_to_all({}, options);
  EXPECT_EQ(HttpClient(open_to_all.port()).get("/ui/access").body,
            R"({"metrics":true,"admin":false})");
  options.routes.admin_from_loopback = true;
  RunningServer open_to_operators({}, options);
  EXPECT_EQ(HttpClient(open_to_operators.port()).get("/ui/access").body,
            R"({"metrics":true,"admin":true})");
}

TEST(Page, ThatIsOffAsksNoBrowserForAKey) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  const Reply refused = client.get("/ui");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(client.get("/ui", kBasicSecret).status, 404);
}

TEST(Page, AKeyThatABrowserSendsIsCheckedAsAnyOther) {
  ServerOptions options = with_page();
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (const char* wrong :
       {kBasicWithoutName, "Authorization: Basic\r\n", "Authorization: Basic ====\r\n",
        "Authorization: Basic bmFtZTo=\r\n", "Authorization: Basic bmFtZTpz!WNyZXQ=\r\n",
        "Authorization: Basic bmFtZTpzZWNyZXQx\r\n"}) {
    EXPECT_EQ(client.get("/ui", wrong).status, 401) << wrong;
  }
}

}  // namespace
}  // namespace tandem::server
