// SPDX-License-Identifier: Apache-2.0
//
// The states of a connection: bytes that come late, early, in excess, or not at all, while a
// request is refused, held or answered.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::completion_body;
using test::eventually;
using test::get_request;
using test::HttpClient;
using test::Json;
using test::post_request;
using test::Reply;
using test::RunningServer;

// The head of a POST whose body of `size` bytes does not come with it.
std::string head_only(std::size_t size) {
  const std::string request = post_request("/v1/completions", std::string(size, 'x'));
  return request.substr(0, request.size() - size);
}

// A body that looks like a request: a server must not take it for the next one.
const std::string kSmuggled = get_request("/health");

TEST(Connection, ARefusedRequestWhoseBodyComesLateIsAnsweredOnceAndClosed) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  client.send(head_only(kSmuggled.size()));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 401);
  ASSERT_EQ(reply.headers.at("connection"), "close");
  client.send(kSmuggled);
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Connection, ARefusedRequestWhoseBodyIsHereKeepsItsConnection) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.post("/v1/completions", kSmuggled);
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.headers.at("connection"), "keep-alive");
  }
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Connection, TheRestOfARefusedBodyIsReadSoThatTheAnswerIsNotLost) {
  ServerOptions options;
  options.limits.max_body_bytes = 1000;
  options.limits.linger_timeout = std::chrono::seconds(20);
  RunningServer running({}, options);
  HttpClient client(running.port());
  client.send(head_only(10'000'000));
  EXPECT_EQ(client.read_reply().status, 413);
  for (int i = 0; i < 10; ++i) {  // after a reset a send fails
    client.send(std::string(20'000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Connection, AClientThatSendsItsBodyAtOnceIsNotToldToContinue) {
  RunningServer running;
  HttpClient client(running.port());
  const std::string body = completion_body().dump();
  client.send(post_request("/v1/completions", body, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST(Connection, AnOverloadedServerAnswersOnceAndClosesWhereverTheBodyIs) {
  ServerOptions options;
  options.limits.max_connections = 1;
  RunningServer running({}, options);
  HttpClient first(running.port());
  ASSERT_EQ(first.get("/health").status, 200);
  for (const bool body_is_late : {true, false}) {
    HttpClient client(running.port());
    client.send(body_is_late ? head_only(kSmuggled.size())
                             : post_request("/v1/completions", kSmuggled));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 503);
    ASSERT_EQ(reply.headers.at("connection"), "close");
    if (body_is_late) client.send(kSmuggled);
    EXPECT_TRUE(client.closed_by_server());
  }
}

// All answers to the bytes, sent in two pieces, without the time; the last request ends them.
std::string answers_to(const RunningServer& running, const std::string& bytes, std::size_t cut) {
  HttpClient client(running.port());
  client.send(bytes.substr(0, cut));
  if (cut % 7 == 0) std::this_thread::yield();  // now and then the first piece is read alone
  client.send(bytes.substr(cut));
  std::string answers;
  for (bool last = false; !last;) {
    const Reply reply = client.read_reply();
    if (reply.status == 100) continue;  // whether it is sent depends on what has come
    const auto length = reply.headers.find("content-length");
    answers += std::to_string(reply.status) + " " +
               (length == reply.headers.end() ? "chunked" : length->second) + "\n";
    last = reply.headers.at("connection") == "close";
  }
  EXPECT_TRUE(client.closed_by_server());
  return answers;
}

TEST(Connection, APipelineIsAnsweredAlikeWhereverItIsCut) {
  RunningServer running;
  const std::string stream = completion_body({{"stream", true}, {"max_tokens", 2}}).dump();
  const std::string plain = completion_body({{"max_tokens", 3}}).dump();
  std::string chunked =
      "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (const char c : plain) chunked += std::string("1;x\r\n") + c + "\r\n";
  const std::string pipeline =
      get_request("/livez") + post_request("/v1/completions", stream) + "\r\n" + chunked +
      "0\r\nT: u\r\n\r\n" + post_request("/v1/completions", plain, "Expect: 100-continue\r\n") +
      get_request("/nothing") + get_request("/health", "Transfer-Encoding: gzip\r\n") +
      get_request("/livez");
  const std::string whole = answers_to(running, pipeline, 0);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 6);
  EXPECT_NE(whole.find("\n501 "), std::string::npos) << whole;
  for (std::size_t cut = 1; cut < pipeline.size(); ++cut) {
    ASSERT_EQ(answers_to(running, pipeline, cut), whole) << "cut at " << cut;
  }
}

TEST(Connection, AFloodBehindAHeldRequestIsNotReadAndLosesNothing) {
  constexpr std::size_t kMost = 64 * 1024 * 1024;  // far beyond what sockets hold
  RunningServer running({.hold_after = 2});
  HttpClient client(running.port());
  client.send(post_request("/v1/completions", completion_body().dump()));
  ASSERT_TRUE(eventually([&] { return running.service.num_running() == 1; }));
  EXPECT_LT(client.flood(get_request("/health"), kMost), kMost);
  EXPECT_EQ(running.service.num_running(), 1u);
  running.service.release();
  EXPECT_EQ(client.read_reply().json()["choices"][0]["text"], "Once upon a time");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.read_reply().body, R"({"status":"ok"})");
}

TEST(Connection, TheEndOfTheServerCancelsARequestWithAFloodBehindIt) {
  RunningServer running({.hold_after = 2});
  HttpClient client(running.port());
  client.send(post_request("/v1/completions", completion_body().dump()));
  ASSERT_TRUE(eventually([&] { return running.service.num_running() == 1; }));
  client.flood(get_request("/health"), 64 * 1024);
  running.server->stop();
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(running.service.num_cancelled(), 1u);
}

// No read is in flight that would tell of its end.
TEST(Connection, AClientThatLeavesWithAFloodBehindItsRequestCancelsIt) {
  RunningServer running({.hold_after = 2});
  auto client = std::make_optional<HttpClient>(running.port());
  client->send(post_request("/v1/completions", completion_body().dump()));
  ASSERT_TRUE(eventually([&] { return running.service.num_running() == 1; }));
  client->flood(get_request("/health"), 64 * 1024);
  client.reset();
  EXPECT_TRUE(running.service.wait_until_idle());
  EXPECT_EQ(running.service.num_cancelled(), 1u);
}

// A large answer, of which most is unsent when the client shuts down its sending side. Behind
// a flood the server looks from time to time whether the client is still there: it gets the time.
void expect_whole_answer_after_half_close(const std::string& bytes_behind_the_request,
                                          bool is_flood = false) {
  RunningServer running({.max_request_tokens = 1 << 20});
  HttpClient client(running.port(), 4096);
  const std::string prompt(900'000, 'x');
  const Json body =
      completion_body({{"prompt", prompt}, {"echo", true}, {"n", 4}, {"max_tokens", 1}});
  client.send(post_request("/v1/completions", body.dump()) + bytes_behind_the_request);
  const std::string counted = R"(route="/v1/completions")";
  ASSERT_TRUE(
      eventually([&] { return running.metrics.text().find(counted) != std::string::npos; }));
  client.finish_sending();
  if (is_flood) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["choices"].size(), 4u);
  EXPECT_TRUE(is_flood || client.closed_by_server());
}

TEST(Connection, ACompleteAnswerGoesOutToAClientThatHasFinishedSending) {
  expect_whole_answer_after_half_close("");
}

TEST(Connection, ARequestThatEndsInTheMiddleIsNotWaitedFor) {
  expect_whole_answer_after_half_close("GET /health HTTP/1.1\r\nHo");
}

TEST(Connection, ACompleteAnswerGoesOutToAClientThatHasFinishedSendingAFlood) {
  std::string flood;
  while (flood.size() < 64 * 1024) flood += get_request("/health");
  expect_whole_answer_after_half_close(flood, true);
}

// Bytes of the heap in use; 0 under sanitizers, which have a heap of their own.
std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A server whose answers may be large, and clients of it that have asked once.
struct IdleClients {
  IdleClients() : running({.max_request_tokens = 1 << 20, .padding_bytes = 4000}, options()) {
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<HttpClient>(running.port(), 4096));
      EXPECT_EQ(clients.back()->get("/health").status, 200);
    }
  }

  static ServerOptions options() {
    ServerOptions result;
    result.limits.max_header_bytes = std::size_t{4} << 20;
    result.limits.max_stream_buffer_bytes = std::size_t{1} << 30;
    return result;
  }

  // What every client does last leaves next to nothing.
  void expect_nothing_kept_after(const std::function<void(HttpClient&)>& exchange) {
    const std::size_t before = heap_bytes();
    for (const auto& client : clients) exchange(*client);
    const auto few = std::size_t{400'000};  // with one of the buffers kept: 1 MB of each or more
    EXPECT_TRUE(eventually([&] { return heap_bytes() < before + few; })) << heap_bytes() - before;
  }

  RunningServer running;
  std::vector<std::unique_ptr<HttpClient>> clients;
};

TEST(Connection, AnIdleOneKeepsNothingOfALargeAnswer) {
  const Json large = completion_body({{"ignore_eos", true}, {"max_tokens", 500}});
  IdleClients().expect_nothing_kept_after([&](HttpClient& client) {
    EXPECT_GT(client.post("/v1/completions", large).body.size(), 2'000'000u);
  });
}

TEST(Connection, AnIdleOneKeepsNothingOfALargeHead) {
  const std::string target = "/" + std::string(1'000'000, 'y');
  IdleClients().expect_nothing_kept_after(
      [&](HttpClient& client) { EXPECT_EQ(client.get(target).status, 404); });
}

TEST(Connection, AnIdleOneKeepsNothingOfALargeBody) {
  const std::string body(2'000'000, 'x');
  IdleClients().expect_nothing_kept_after([&](HttpClient& client) {
    EXPECT_EQ(client.get("/health", "Content-Length: 2000000\r\n\r\n" + body).status, 200);
  });
}

// Behind bytes that the client takes slowly a long stream waits in one buffer while the other is
// sent; then they change places.
TEST(Connection, AnIdleOneKeepsNothingOfAStreamThatWasReadLate) {
  IdleClients idle;
  const Json large =
      completion_body({{"ignore_eos", true}, {"stream", true}, {"max_tokens", 4000}});
  idle.expect_nothing_kept_after([&](HttpClient& client) {
    client.send(post_request("/v1/completions", large.dump()));
    ASSERT_TRUE(idle.running.service.wait_until_idle());
    EXPECT_EQ(client.read_head().status, 200);
    while (!client.read_chunk().empty()) {
    }
  });
}

}  // namespace
}  // namespace tandem::server
