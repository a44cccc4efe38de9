// SPDX-License-Identifier: Apache-2.0
//
// Request ids, and the one line that every request leaves in the log, however it ends.
#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "host/server/event_log.h"
#include "host/server/key_file.h"
#include "host/server/server_fixture.h"
#include "server/access/request_record.h"

namespace tandem::server {
namespace {

using test::bearer;
using test::completion_body;
using test::EventLog;
using test::HttpClient;
using test::Json;
using test::Reply;
using test::RunningServer;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Reads events of a stream; one chunk may hold several.
void read_stream(HttpClient& client, int count) {
  for (std::string text; count > 0;) {
    text += client.read_chunk();
    for (std::size_t at = 0; (at = text.find("data: ")) != std::string::npos; --count) {
      text.erase(0, at + 6);
    }
  }
}

TEST(RequestId, IsTheClientsWhereItIsShortAndPlain) {
  RunningServer running;
  HttpClient client(running.port());
  const auto answered = [&](const std::string& id) {
    return client.get("/health", "X-Request-Id: " + id + "\r\n").headers.at("x-request-id");
  };
  for (const std::string& good :
       {std::string("a"), std::string("Az09._:/+=@-"), std::string(128, 'x')}) {
    EXPECT_EQ(answered(good), good);
  }
  for (const std::string& bad : {std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
                                 std::string("caf\xc3\xa9"), std::string("a\tb"), std::string()}) {
    EXPECT_THAT(answered(bad), MatchesRegex("[0-9a-f]{32}")) << bad;
  }
  EXPECT_NE(client.get("/health").headers.at("x-request-id"),
            client.get("/health").headers.at("x-request-id"));
}

TEST(RequestId, IsOnAnswersOfEveryKind) {
  RunningServer running;
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/none", "X-Request-Id: n\r\n").headers.at("x-request-id"), "n");
  const Reply stream = client.post("/v1/completions", completion_body({{"stream", true}}).dump(),
                                   "X-Request-Id: s\r\n");
  EXPECT_EQ(stream.headers.at("x-request-id"), "s");
  HttpClient broken(running.port());
  broken.send("nonsense\r\n\r\n");
  const Reply refused = broken.read_reply();
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.headers.at("x-request-id"), MatchesRegex("[0-9a-f]{32}"));
}

TEST(RequestLog, AnAnsweredRequestLeavesOneLineWithAllThatIsKnown) {
  const EventLog log;
  const test::KeyFile file(test::key_table("alice", "a"));
  ServerOptions options;
  options.routes.api_keys = load_api_keys(file.path()).keys;
  RunningServer running({}, options);
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", completion_body({{"max_tokens", 4}}).dump(),
                                  bearer("a") + "X-Request-Id: q-1\r\n");
  EXPECT_EQ(reply.status, 200);
  const Json line = log.requests(1).at(0);
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["id"], "q-1");
  EXPECT_EQ(line["key"], "alice");
  EXPECT_EQ(line["client"], "127.0.0.1");
  EXPECT_EQ(line["method"], "POST");
  EXPECT_EQ(line["route"], "/v1/completions");
  EXPECT_EQ(line["status"], 200);
  EXPECT_GT(line["bytes"].integer(), static_cast<std::int64_t>(reply.body.size()));
  EXPECT_EQ(line["prompt_tokens"], 3);
  EXPECT_EQ(line["completion_tokens"], 4);
  EXPECT_EQ(line["outcome"], "complete");
  EXPECT_EQ(line["queue_seconds"], 0.125) << "as the service says";
  EXPECT_TRUE(line.contains("seconds"));
  client.get("/v1/models");
  const Json refused = log.requests(2).at(1);
  EXPECT_EQ(refused["status"], 401);
  EXPECT_FALSE(refused.contains("key"));
  EXPECT_FALSE(refused.contains("prompt_tokens"));
  EXPECT_EQ(log.requests(2).size(), 2u);
}

// A page that polls would hide what clients do.
TEST(RequestLog, WhatIsPolledLeavesItsLineAtDebugWhileAllIsWell) {
  const EventLog log(LogFormat::kJson, true);
  ServerOptions options;
  options.routes.admin_from_loopback = true;
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (const char* path :
       {"/status", "/metrics", "/admin/requests", "/status/requests", "/admin/log", "/admin/config",
        "/admin/card-reports", "/livez", "/readyz", "/health"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  EXPECT_EQ(client.get("/v1/models").status, 200);
  EXPECT_EQ(client.post("/status", std::string("{}")).status, 405);
  const std::vector<Json> lines = log.requests(12);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["level"], i < 10 ? "debug" : "info") << lines[i]["route"].text();
  }
}

TEST(RequestLog, TheLongestWaitOfAChoiceCounts) {
  const EventLog log;
  {
    RequestRecord record({"w", "POST", "/v1/completions", ""}, nullptr, {});
    record.add_generation(1);
    for (const double seconds : {0.25, 0.5, 0.125}) record.set_queue_seconds(seconds);
  }
  EXPECT_EQ(log.requests(1).at(0)["queue_seconds"], 0.5);
}

TEST(RequestLog, EveryRequestOfAConnectionHasItsLineAndItsBytes) {
  const EventLog log;
  RunningServer running;
  HttpClient client(running.port());
  const std::string one = test::get_request("/v1/models", "X-Request-Id: p\r\n");
  client.send(one + one + one);
  std::int64_t size = 0;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_reply().status, 200);
  for (const Json& line : log.requests(3)) {
    EXPECT_EQ(line["id"], "p");
    EXPECT_EQ(line["outcome"], "complete");
    EXPECT_TRUE(size == 0 || line["bytes"].integer() == size) << size;
    size = line["bytes"].integer();
  }
  EXPECT_GT(size, 0);
}

TEST(RequestLog, AClientThatLeavesIsSaidToHaveLeft) {
  const EventLog log;
  test::FakeBehaviour behaviour;
  behaviour.hold_after = 3;
  RunningServer running(behaviour);
  {
    HttpClient client(running.port());
    client.send(test::post_request("/v1/completions", completion_body({{"stream", true}}).dump()));
    client.read_head();
    read_stream(client, 3);
  }
  const Json line = log.requests(1).at(0);
  EXPECT_EQ(line["outcome"], "client_gone");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["completion_tokens"], 3);
  EXPECT_GT(line["bytes"].integer(), 0);
  {
    HttpClient half(running.port());
    half.send(
        "POST /v1/completions HTTP/1.1\r\nHost: h\r\nX-Request-Id: half\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    EXPECT_TRUE(test::eventually([&] {
      return running.metrics.text().find("tandem_http_connections 1") != std::string::npos;
    }));
  }
  const Json second = log.requests(2).at(1);
  EXPECT_EQ(second["id"], "half");
  EXPECT_EQ(second["outcome"], "client_gone");
  EXPECT_EQ(second["status"], 0);
}

std::string outcome_of(http::ExchangeEnd how, std::optional<CutShort> reason = {}) {
  const EventLog log;
  RequestRecord record({"r", "POST", "/v1/completions", ""}, nullptr, {});
  if (reason) record.note_cut_short(*reason);
  record.end(1, how);
  return log.requests(1).at(0)["outcome"].text();
}

TEST(RequestLog, EveryEndHasItsName) {
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kComplete), "complete");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kClientGone), "client_gone");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kClientSlow), "client_slow");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kServerClosed), "server_closed");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kFailed), "failed");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kComplete, CutShort::kCancelled), "cancelled");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kClientGone, CutShort::kDeadline), "deadline");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kComplete, CutShort::kFailed), "failed");
  EXPECT_EQ(outcome_of(http::ExchangeEnd::kComplete, CutShort::kStopped), "server_closed");
}

TEST(RequestLog, TheFirstReasonToCutARequestShortCounts) {
  const EventLog log;
  {
    RequestRecord record({"r", "POST", "/v1/completions", ""}, nullptr, {});
    record.note_cut_short(CutShort::kDeadline);
    record.note_cut_short(CutShort::kFailed);
    record.end(1, http::ExchangeEnd::kComplete);
    record.end(1, http::ExchangeEnd::kClientGone);
  }
  const std::vector<Json> lines = log.requests(1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["outcome"], "deadline");
}

// A stream, a plain answer and a body that never ends, when the server stops.
TEST(RequestLog, AServerThatStopsIsSaidToHaveClosed) {
  const EventLog log;
  test::FakeBehaviour behaviour;
  behaviour.hold_after = 3;
  ServerOptions options;
  options.routes.admin_from_loopback = true;
  RunningServer running(behaviour, options);
  HttpClient stream(running.port()), plain(running.port()), half(running.port());
  const auto post = [](const char* id, const Json& body) {
    return test::post_request("/v1/completions", body.dump(),
                              std::string("X-Request-Id: ") + id + "\r\n");
  };
  stream.send(post("stream", completion_body({{"stream", true}})));
  stream.read_head();
  plain.send(post("plain", completion_body()));
  const std::string whole = post("half", completion_body());
  half.send(whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(test::eventually([&] {
    const Reply listed = HttpClient(running.port()).get("/admin/requests");
    return running.service.num_running() == 2 && listed.json()["requests"].size() == 3;
  }));
  EXPECT_FALSE(running.server->drain(Deadline::after(std::chrono::milliseconds(20))));
  running.server->stop();
  std::map<std::string, std::string> outcomes;
  for (const Json& line : log.requests(3)) outcomes[line["id"].text()] = line["outcome"].text();
  EXPECT_EQ(outcomes["stream"], "server_closed");
  EXPECT_EQ(outcomes["plain"], "server_closed");
  EXPECT_EQ(outcomes["half"], "server_closed");
}

// The word of the error object: its code, or its type where it has none.
TEST(RequestLog, ARefusalIsNamed) {
  const EventLog log;
  RunningServer running({.max_waiting = 1, .most_choices = 8});
  HttpClient client(running.port());
  client.get("/none");
  client.get("/v1/completions");
  client.post("/v1/completions", std::string("{"));
  client.post("/v1/completions", completion_body({{"top_p", 7}}));
  client.post("/v1/completions", completion_body({{"model", "other"}}));
  client.post("/v1/completions", completion_body({{"n", 2}}));
  EXPECT_EQ(client.post("/v1/completions", completion_body()).status, 200);
  const std::vector<Json> lines = log.requests(7);
  const char* const words[] = {"unknown_url",   "method_not_allowed", "invalid_request_error",
                               "invalid_value", "model_not_found",    "queue_full"};
  for (std::size_t i = 0; i < std::size(words); ++i) EXPECT_EQ(lines[i]["error"], words[i]) << i;
  EXPECT_FALSE(lines.back().contains("error"));
}

TEST(RequestLog, AnErrorInTheMiddleOfAStreamIsNamed) {
  const EventLog log;
  RunningServer running({.fail_after = 3});
  HttpClient client(running.port());
  EXPECT_EQ(client.post("/v1/completions", completion_body({{"stream", true}})).status, 200);
  const Json line = log.requests(1).at(0);
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["error"], "server_error");
  EXPECT_EQ(line["outcome"], "failed");
}

TEST(RequestLog, PathsOfClientsCannotForgeLines) {
  const EventLog log(LogFormat::kText, true);
  RunningServer running;
  HttpClient client(running.port());
  client.get("/x%0a2026-01-01%20info%20forged%1b%5b2J%22", "X-Request-Id: evil\r\n");
  EXPECT_TRUE(
      test::eventually([&] { return log.text().find("outcome=complete") != std::string::npos; }));
  EXPECT_THAT(log.text(), HasSubstr(R"(/x\n2026-01-01 info forged\x1b[2J\")"));
  EXPECT_THAT(log.text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(log.text(), Not(HasSubstr("\n2026-01-01 info forged")));
  EXPECT_THAT(log.text(), ContainsRegex("info \\[server\\] request id=evil client=127.0.0.1 "
                                        "method=GET route=other status=404 error=unknown_url "
                                        "bytes=[0-9]+ seconds=[0-9.]+ outcome=complete\n"));
}

TEST(RequestLog, GenerationsAreNamedAtDebug) {
  const EventLog log(LogFormat::kText, true);
  RunningServer running;
  HttpClient client(running.port());
  client.post("/v1/completions", completion_body().dump(), "X-Request-Id: g\r\n");
  EXPECT_THAT(log.text(), HasSubstr("debug [server] g: generation 1 submitted"));
}

TEST(Connections, AreCountedWhileTheyAreOpen) {
  RunningServer running;
  const auto text_has = [&](const char* text) {
    return test::eventually([&] { return running.metrics.text().find(text) != std::string::npos; });
  };
  EXPECT_TRUE(text_has("tandem_http_connections 0"));
  {
    HttpClient first(running.port()), second(running.port());
    first.get("/health");
    second.get("/health");
    EXPECT_TRUE(text_has("tandem_http_connections 2"));
  }
  EXPECT_TRUE(text_has("tandem_http_connections 0"));
  EXPECT_TRUE(text_has("tandem_http_connections_total 2"));
}

}  // namespace
}  // namespace tandem::server
