// SPDX-License-Identifier: Apache-2.0
//
// Refusals of a full queue: what they cost, and when they are answered.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "host/server/key_file.h"
#include "host/server/server_fixture.h"
#include "server/access/refusal_delay.h"

namespace tandem::server {
namespace {

using std::chrono::milliseconds;
using test::bearer;
using test::completion_body;
using test::error_of;
using test::HttpClient;
using test::key_table;
using test::KeyFile;
using test::Reply;
using test::RunningServer;

milliseconds delay_of(RefusalDelay& delay, const std::string& caller) {
  http::Response answer;
  delay.apply(caller, answer);
  return answer.delay;
}

TEST(RefusalDelay, ABurstIsAnsweredAtOnceAndThenOneEachTenthOfASecond) {
  VirtualClock clock;
  RefusalDelay delay(100, clock);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(delay_of(delay, "a"), milliseconds(0)) << i;
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(delay_of(delay, "a"), milliseconds(100 * i));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(delay_of(delay, "a"), milliseconds(1000));
  EXPECT_EQ(delay_of(delay, "b"), milliseconds(0)) << "each caller has its own turn";
  clock.advance(milliseconds(300));
  EXPECT_EQ(delay_of(delay, "a"), milliseconds(800)) << "what nobody waited for is forgotten";
  clock.advance(std::chrono::hours(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(delay_of(delay, "a"), milliseconds(0)) << i;
  EXPECT_EQ(delay_of(delay, "a"), milliseconds(100)) << "an hour saves up no more than a burst";
}

TEST(RefusalDelay, OnlySoManyAnswersWaitAtATime) {
  VirtualClock clock;
  RefusalDelay delay(3, clock);
  for (int i = 0; i < 20; ++i) delay_of(delay, "a");
  std::vector<http::Response> waiting(4);
  for (http::Response& answer : waiting) delay.apply("a", answer);
  EXPECT_GT(waiting[2].delay, milliseconds(0));
  EXPECT_EQ(waiting[3].delay, milliseconds(0));
  waiting.pop_back();
  EXPECT_EQ(delay_of(delay, "b"), milliseconds(0));
  waiting.pop_back();
  EXPECT_GT(delay_of(delay, "a"), milliseconds(0)) << "one is over";
}

// The delay of the last of many answers of this status.
milliseconds delay_after_many(int status) {
  test::FakeService service;
  Routes routes({}, service, {std::make_shared<WorkPool>(1, 1), std::make_shared<Timers>()});
  milliseconds last{0};
  for (int i = 0; i < 200; ++i) {
    http::Request request;
    http::Response answer;
    answer.status = status;
    routes.add_headers(request, answer);
    last = answer.delay;
  }
  return last;
}

TEST(Refusals, OnlyThoseThatAskToComeBackAreDelayed) {
  EXPECT_GT(delay_after_many(429), milliseconds(0));
  EXPECT_EQ(delay_after_many(400), milliseconds(0));
  EXPECT_EQ(delay_after_many(200), milliseconds(0));
}

ServerOptions with_keys(const KeyFile& file) {
  ServerOptions options;
  options.routes.api_keys = load_api_keys(file.path()).keys;
  return options;
}

TEST(Refusals, AFullQueueIsToldBeforeTheBodyIsRead) {
  RunningServer running({.max_waiting = 0, .retry_after_seconds = 17});
  for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
    HttpClient client(running.port());
    client.send(std::string("POST ") + path +
                " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                "Content-Length: 100\r\n\r\n");
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.headers.at("retry-after"), "17");
    EXPECT_EQ(error_of(reply)["code"], "queue_full");
  }
  EXPECT_EQ(running.service.num_tokenized(), 0);
  HttpClient client(running.port());
  EXPECT_EQ(client.post("/tokenize", test::Json{{"content", "x"}}).status, 200);
}

TEST(Refusals, AServiceThatStopsSaysSoBeforeAllElse) {
  const KeyFile file(key_table("k", "k", "requests-per-minute = 1\n"));
  test::FakeBehaviour behaviour;
  behaviour.max_waiting = 1;
  behaviour.hold_after = 0;
  behaviour.retry_after_seconds = 17;
  RunningServer running(behaviour, with_keys(file));
  HttpClient first(running.port()), client(running.port());
  first.send(test::post_request("/v1/completions", completion_body().dump(), bearer("k")));
  ASSERT_TRUE(test::eventually([&] { return running.service.num_running() == 1; }));
  running.service.begin_to_stop();
  for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
    const Reply reply = client.post(path, std::string("no JSON"), bearer("k"));
    EXPECT_EQ(reply.status, 503) << "neither the full queue nor the key's limit is the reason";
    EXPECT_EQ(reply.headers.at("retry-after"), "17");
    EXPECT_EQ(error_of(reply)["code"], "stopping");
  }
  running.service.release();
  EXPECT_EQ(first.read_reply().status, 200);
}

// It stops between the head of a request and its body.
TEST(Refusals, ARequestThatIsReadWhileTheServiceStopsIsToldTheSame) {
  test::FakeBehaviour behaviour;
  behaviour.retry_after_seconds = 17;
  behaviour.hold_tokenize = true;
  RunningServer running(behaviour);
  HttpClient client(running.port());
  client.send(test::post_request("/v1/completions", completion_body().dump()));
  ASSERT_TRUE(test::eventually([&] { return running.service.num_tokenizing() == 1; }));
  running.service.begin_to_stop();
  running.service.release();
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.at("retry-after"), "17");
  EXPECT_EQ(error_of(reply)["code"], "stopping");
}

TEST(Refusals, TheQueueIsAskedForTheCallersOwnPart) {
  const KeyFile file(key_table("greedy", "g") + key_table("polite", "p"));
  RunningServer running({.max_waiting = 0, .never_full_for = "polite"}, with_keys(file));
  const auto ask = [&](const char* key) {
    const Reply reply =
        HttpClient(running.port()).post("/v1/completions", completion_body().dump(), bearer(key));
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(error_of(reply)["code"], "queue_full");
    return running.service.num_submitted();
  };
  EXPECT_EQ(ask("g"), 0u);
  EXPECT_EQ(ask("p"), 1u) << "the queue itself refuses";
}

TEST(Refusals, ARequestThatIsRefusedForItsChoicesCostsNoTokens) {
  const KeyFile file(key_table("k", "k", "tokens-per-minute = 10\nrequests-per-minute = 3\n"));
  RunningServer running({.max_waiting = 2}, with_keys(file));
  const auto ask = [&](int choices) {
    const auto body = completion_body({{"n", choices}, {"max_tokens", 1}});
    return HttpClient(running.port()).post("/v1/completions", body.dump(), bearer("k")).status;
  };
  EXPECT_EQ(ask(3), 429);
  EXPECT_EQ(ask(3), 429);
  EXPECT_EQ(ask(1), 200) << "its tokens are left";
  EXPECT_EQ(running.service.requests().size(), 1u);
}

TEST(Refusals, AFullQueueCostsTheKeyNoRequest) {
  const KeyFile file(key_table("k", "k", "requests-per-minute = 1\n"));
  test::FakeBehaviour behaviour;
  behaviour.max_waiting = 1;
  behaviour.hold_after = 0;
  RunningServer running(behaviour, with_keys(file));
  const std::string body = completion_body().dump();
  HttpClient first(running.port());
  const auto ask = [&] {
    const Reply reply = HttpClient(running.port()).post("/v1/completions", body, bearer("k"));
    EXPECT_EQ(reply.status, 429);
    return std::string(error_of(reply)["code"].text());
  };
  first.send(test::post_request("/v1/completions", body, bearer("k")));
  ASSERT_TRUE(test::eventually([&] { return running.service.num_running() == 1; }));
  EXPECT_EQ(ask(), "queue_full");
  running.service.release();
  EXPECT_EQ(first.read_reply().status, 200);
  EXPECT_EQ(ask(), "rate_limit_exceeded");
}

}  // namespace
}  // namespace tandem::server
