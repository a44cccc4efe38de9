// SPDX-License-Identifier: Apache-2.0
//
// The operator's routes: who may use them, and what they do to requests of others.
#include <gmock/gmock.h>

#include "host/server/event_log.h"
#include "host/server/key_file.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::bearer;
using test::completion_body;
using test::error_of;
using test::HttpClient;
using test::Json;
using test::Reply;
using test::RunningServer;
using ::testing::HasSubstr;
using ::testing::Not;

ServerOptions open_to_loopback() {
  ServerOptions options;
  options.routes.admin_from_loopback = true;
  return options;
}

test::FakeBehaviour held_after(int tokens) {
  test::FakeBehaviour behaviour;
  behaviour.hold_after = tokens;
  return behaviour;
}

void begin_stream(HttpClient& client, const std::string& id, const Json& extra = Json::object()) {
  Json body = completion_body({{"stream", true}, {"max_tokens", 50}});
  body.update(extra);
  client.send(test::post_request("/v1/completions", body.dump(), "X-Request-Id: " + id + "\r\n"));
  EXPECT_EQ(client.read_head().status, 200);
}

std::string rest_of(HttpClient& client) {
  std::string rest;
  for (std::string chunk = client.read_chunk(); !chunk.empty(); chunk = client.read_chunk()) {
    rest += chunk;
  }
  return rest;
}

TEST(Admin, WithoutKeysIsClosedUnlessOpenedToLoopback) {
  RunningServer closed;
  HttpClient client(closed.port());
  for (const char* path :
       {"/admin/requests", "/admin/log", "/admin/config", "/admin/card-reports"}) {
    EXPECT_EQ(client.get(path).status, 403);
  }
  for (const char* path : {"/admin/cancel", "/admin/drain", "/admin/log-level"}) {
    const Reply refused = client.post(path, std::string("{}"));
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_THAT(error_of(refused)["message"].text(), HasSubstr("--admin loopback"));
  }
  ServerOptions options = open_to_loopback();
  options.routes.configuration = R"({"port":1})";
  RunningServer open({}, options);
  HttpClient operators(open.port());
  EXPECT_EQ(operators.get("/admin/requests").status, 200);
  EXPECT_EQ(operators.get("/admin/log").json()["lines"].size(), 0u);
  EXPECT_EQ(operators.get("/admin/config").body, R"({"port":1})");
  EXPECT_EQ(operators.get("/admin/card-reports").body, "{}");
  EXPECT_EQ(operators.get("/status/requests").body, "{}");
}

TEST(Admin, LoopbackOpensNothingWhereKeysAreNeeded) {
  ServerOptions options = open_to_loopback();
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/admin/requests").status, 401);
  EXPECT_EQ(client.get("/admin/requests", bearer("secret")).status, 403)
      << "a key of the old form is no operator's";
}

TEST(Admin, ListsRequestsInProgressWithTheirCounts) {
  RunningServer running(held_after(3), open_to_loopback());
  HttpClient stream(running.port()), client(running.port());
  begin_stream(stream, "mine-1", {{"n", 2}});
  const auto listed = [&] { return client.get("/admin/requests").json()["requests"]; };
  ASSERT_TRUE(test::eventually([&] { return listed()[0]["completion_tokens"] == Json(6); }));
  const Json list = listed();
  ASSERT_EQ(list.size(), 1u) << "the routes of operators are not listed";
  EXPECT_EQ(list[0]["id"], "mine-1");
  EXPECT_EQ(list[0]["route"], "/v1/completions");
  EXPECT_EQ(list[0]["choices"], 2);
  EXPECT_EQ(list[0]["prompt_tokens"], 3);
  EXPECT_EQ(list[0]["client"], "127.0.0.1");
  EXPECT_TRUE(list[0]["key"].is_null());
  running.service.release();
  rest_of(stream);
  EXPECT_TRUE(test::eventually([&] { return listed().size() == 0; }));
}

TEST(Admin, CancelNeverMeansARequestOfAnOperator) {
  RunningServer running({}, open_to_loopback());
  HttpClient client(running.port());
  const std::string body = Json{{"id", "own"}}.dump();
  EXPECT_EQ(client.post("/admin/cancel", body, "X-Request-Id: own\r\n").status, 404);
}

TEST(Admin, CancelEndsTheRequestOfThatIdAndNoOther) {
  const test::EventLog log;
  RunningServer running(held_after(3), open_to_loopback());
  HttpClient doomed(running.port()), spared(running.port()), client(running.port());
  begin_stream(doomed, "doomed");
  begin_stream(spared, "spared");
  const Reply unknown = client.post("/admin/cancel", Json{{"id", "nobody"}});
  EXPECT_EQ(unknown.status, 404);
  const Reply done = client.post("/admin/cancel", Json{{"id", "doomed"}});
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.json()["cancelled"], 1);
  const std::string rest = rest_of(doomed);
  EXPECT_THAT(rest, HasSubstr("operator"));
  EXPECT_THAT(rest, HasSubstr("[DONE]"));
  EXPECT_EQ(running.service.num_cancelled(), 1u);
  running.service.release();
  EXPECT_THAT(rest_of(spared), Not(HasSubstr("operator")));
  for (const Json& line : log.requests(4)) {
    EXPECT_EQ(line["outcome"], line["id"] == Json("doomed") ? "cancelled" : "complete");
  }
}

TEST(Admin, ACancelledPlainAnswerIsAnErrorThatClientsDoNotRepeat) {
  RunningServer running(held_after(3), open_to_loopback());
  HttpClient waiting(running.port()), client(running.port());
  waiting.send(
      test::post_request("/v1/completions", completion_body().dump(), "X-Request-Id: w\r\n"));
  EXPECT_TRUE(test::eventually([&] {
    return client.post("/admin/cancel", Json{{"id", "w"}}).status == 200;
  }));
  const Reply reply = waiting.read_reply();
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(error_of(reply)["code"], "cancelled");
}

TEST(Admin, DrainBeginsOnceHoweverOftenItIsAsked) {
  std::atomic<int> drains{0};
  ServerOptions options = open_to_loopback();
  options.routes.drain = [&] { ++drains; };
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.post("/admin/drain", std::string("{}")).status, 202);
  EXPECT_EQ(drains, 1);
  RunningServer unable({}, open_to_loopback());
  EXPECT_EQ(HttpClient(unable.port()).post("/admin/drain", std::string("{}")).status, 501);
}

TEST(Admin, TheLogLevelChangesAtOnce) {
  const test::EventLog log(LogFormat::kText);
  RunningServer running({}, open_to_loopback());
  HttpClient client(running.port());
  client.get("/v1/models", "X-Request-Id: before\r\n");
  EXPECT_THAT(log.text(), Not(HasSubstr("debug [server] before: GET /v1/models")));
  EXPECT_EQ(client.post("/admin/log-level", Json{{"level", "debug"}}).status, 200);
  client.get("/v1/models", "X-Request-Id: after\r\n");
  EXPECT_THAT(log.text(), HasSubstr("debug [server] after: GET /v1/models from 127.0.0.1"));
  EXPECT_THAT(log.text(), HasSubstr("debug [server] after: answers 200"));
  EXPECT_EQ(client.post("/admin/log-level", Json{{"level", "info"}}).status, 200);
  for (const char* body :
       {R"({"level": "loud"})", R"({"level": 3})", "{}", R"({"levle": "info"})"}) {
    EXPECT_EQ(client.post("/admin/log-level", std::string(body)).status, 400) << body;
  }
}

}  // namespace
}  // namespace tandem::server
