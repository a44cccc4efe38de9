// SPDX-License-Identifier: Apache-2.0
//
// The end of a drain: what still runs is ended in its protocol, not by a closed connection.
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "host/server/event_log.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::HttpClient;
using test::Json;
using test::Reply;
using test::RunningServer;

struct ApiCase {
  const char* path;
  Json (*body)(const Json& extra);
};

constexpr ApiCase kApis[] = {{"/v1/completions", test::completion_body},
                             {"/v1/chat/completions", test::chat_body}};

Deadline in_a_minute() { return Deadline::after(std::chrono::seconds(60)); }

std::string all_chunks(HttpClient& client) {
  std::string body;
  for (auto chunk = client.read_chunk(); !chunk.empty(); chunk = client.read_chunk()) body += chunk;
  return body;
}

void expect_stopping(const Json& error) {
  EXPECT_EQ(error["type"], "service_unavailable_error");
  EXPECT_EQ(error["code"], "stopping");
  EXPECT_FALSE(error["message"].text().empty());
}

TEST(DrainEnd, AStreamGetsAnErrorEventAndItsEnd) {
  for (const ApiCase& api : kApis) {
    for (const bool logprobs : {false, true}) {  // these are written on the pool
      RunningServer running({.hold_after = 3});
      Json extra = {{"stream", true}};
      if (logprobs) extra.set("logprobs", api.body == test::chat_body ? Json(true) : Json(1));
      HttpClient client(running.port());
      client.send(test::post_request(api.path, api.body(extra).dump()));
      EXPECT_EQ(client.read_head().status, 200);
      std::string body = client.read_chunk();
      running.server->end_requests(Deadline::after(std::chrono::milliseconds(0)));
      body += all_chunks(client);
      const auto events = test::sse_objects(body);  // [DONE] is the last
      ASSERT_FALSE(events.empty());
      expect_stopping(events.back()["error"]);
      EXPECT_TRUE(client.closed_by_server());
      client.close();
      EXPECT_TRUE(running.service.wait_until_idle());
      EXPECT_EQ(running.service.num_cancelled(), 1u);
      EXPECT_TRUE(running.server->end_requests(in_a_minute()));
    }
  }
}

TEST(DrainEnd, APlainRequestGets503) {
  for (const ApiCase& api : kApis) {
    RunningServer running({.hold_after = 3, .retry_after_seconds = 7});
    HttpClient client(running.port());
    client.send(test::post_request(api.path, api.body(Json::object()).dump()));
    ASSERT_TRUE(test::eventually([&] { return running.service.num_running() == 1; }));
    running.server->end_requests(Deadline::after(std::chrono::milliseconds(0)));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.headers.at("retry-after"), "7");
    EXPECT_EQ(reply.headers.at("connection"), "close");
    expect_stopping(test::error_of(reply));
    EXPECT_TRUE(client.closed_by_server());
    EXPECT_TRUE(running.service.wait_until_idle());
  }
}

TEST(DrainEnd, ARequestThatIsStillPreparedGets503) {
  for (const char* path : {"/v1/completions", "/tokenize"}) {
    RunningServer running({.hold_tokenize = true});
    HttpClient client(running.port());
    client.send(test::post_request(path, R"({"prompt": "hi"})"));
    ASSERT_TRUE(test::eventually([&] { return running.service.num_tokenizing() == 1; }));
    running.server->end_requests(Deadline::after(std::chrono::milliseconds(0)));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 503);
    expect_stopping(test::error_of(reply));
    running.service.release();
    EXPECT_TRUE(running.service.wait_until_idle());
  }
}

TEST(DrainEnd, TheLogSaysThatTheServerEndedThem) {
  const test::EventLog log;
  ServerOptions options;
  options.routes.admin_from_loopback = true;
  RunningServer running({.hold_after = 3}, options);
  HttpClient stream(running.port()), plain(running.port()), half(running.port());
  const auto post = [](const char* id, const Json& extra) {
    return test::post_request("/v1/completions", test::completion_body(extra).dump(),
                              std::string("X-Request-Id: ") + id + "\r\n");
  };
  stream.send(post("stream", {{"stream", true}}));
  stream.read_head();
  plain.send(post("plain", Json::object()));
  const std::string whole = post("half", Json::object());
  half.send(whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(test::eventually([&] {
    const Reply listed = HttpClient(running.port()).get("/admin/requests");
    return running.service.num_running() == 2 && listed.json()["requests"].size() == 3;
  }));
  running.server->end_requests(Deadline::after(std::chrono::milliseconds(0)));
  EXPECT_EQ(half.read_reply().status, 503);
  EXPECT_EQ(plain.read_reply().status, 503);
  all_chunks(stream);
  std::map<std::string, Json> lines;
  for (const Json& line : log.requests(3)) lines.emplace(line["id"].text(), line);
  EXPECT_EQ(lines.at("stream")["status"], 200);
  EXPECT_EQ(lines.at("stream")["outcome"], "server_closed");
  EXPECT_EQ(lines.at("stream")["error"], "stopping");
  EXPECT_EQ(lines.at("plain")["status"], 503);
  EXPECT_EQ(lines.at("plain")["outcome"], "server_closed");
  EXPECT_EQ(lines.at("plain")["error"], "stopping");
  EXPECT_EQ(lines.at("half")["status"], 503);
  EXPECT_EQ(lines.at("half")["error"], "service_unavailable_error");
}

TEST(DrainEnd, AnAnswerThatIsCompleteIsLeftAsItIs) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply = client.post("/v1/completions", test::completion_body());
  EXPECT_EQ(reply.status, 200);
  running.server->end_requests(Deadline::after(std::chrono::milliseconds(0)));
  EXPECT_TRUE(client.closed_by_server());
}

// It takes no byte, so the server closes without it.
TEST(DrainEnd, AClientThatDoesNotReadIsNotWaitedFor) {
  RunningServer running({.reply = "endless",
                         .max_request_tokens = 1 << 20,
                         .hold_after = 2,
                         .padding_bytes = 600 * 1024});
  HttpClient client(running.port(), 4096);
  client.send(test::post_request(
      "/v1/completions",
      test::completion_body({{"stream", true}, {"max_tokens", 5000}, {"ignore_eos", true}})
          .dump()));
  ASSERT_TRUE(test::eventually([&] { return running.service.num_running() == 1; }));
  running.server->end_requests(Deadline::after(std::chrono::milliseconds(20)));
  running.server->stop();
  EXPECT_TRUE(running.service.wait_until_idle());
}

}  // namespace
}  // namespace tandem::server
