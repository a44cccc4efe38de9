// SPDX-License-Identifier: Apache-2.0
//
// Limits of a key: what it may take in a minute, at a time and with one request.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "common/error.h"
#include "host/server/event_log.h"
#include "host/server/key_file.h"
#include "host/server/server_fixture.h"
#include "server/access/key_usage.h"

namespace tandem::server {
namespace {

using std::chrono::seconds;
using test::bearer;
using test::completion_body;
using test::error_of;
using test::HttpClient;
using test::Json;
using test::key_table;
using test::KeyFile;
using test::Reply;
using test::RunningServer;
using ::testing::HasSubstr;
using ::testing::Not;

struct KeyedServer {
  explicit KeyedServer(const std::string& tables, test::FakeBehaviour behaviour = {})
      : file(tables), running(std::move(behaviour), options_for(file)) {}

  static ServerOptions options_for(const KeyFile& file) {
    ServerOptions options;
    options.routes.api_keys = load_api_keys(file.path()).keys;
    options.routes.key_file = file.path();
    return options;
  }

  Reply complete(const std::string& key, const Json& extra = Json::object()) {
    return HttpClient(running.port())
        .post("/v1/completions", completion_body(extra).dump(), bearer(key));
  }

  KeyFile file;
  RunningServer running;
};

// Reads events of a stream; one chunk may hold several.
void read_output(HttpClient& client, int count) {
  for (std::string text; count > 0;) {
    text += client.read_chunk();
    for (std::size_t at = 0; (at = text.find("data: ")) != std::string::npos; --count) {
      text.erase(0, at + 6);
    }
  }
}

TEST(KeyUsage, AMinutesRequestsMayComeAtOnceAndThenOneByOne) {
  VirtualClock clock;
  KeyUsage usage(clock);
  KeyLimits limits;
  limits.requests_per_minute = 6;
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(usage.begin(limits)) << i;
  const auto reached = usage.begin(limits);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->limit, "6 requests per minute");
  clock.advance(seconds(reached->retry_after_seconds));
  EXPECT_FALSE(usage.begin(limits)) << "Retry-After is long enough";
  EXPECT_TRUE(usage.begin(limits)) << "and pays for one request only";
  clock.advance(seconds(3600));
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(usage.begin(limits)) << i;
  EXPECT_TRUE(usage.begin(limits)) << "an idle hour saves up one minute, not sixty";
}

TEST(KeyUsage, TokensBeyondTheLimitArePaidBackByWaiting) {
  VirtualClock clock;
  KeyUsage usage(clock);
  KeyLimits limits;
  limits.tokens_per_minute = 60;
  EXPECT_FALSE(usage.begin(limits));
  usage.add_tokens(limits, 150);
  const auto reached = usage.begin(limits);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->limit, "60 tokens per minute");
  EXPECT_EQ(reached->retry_after_seconds, 91);
  clock.advance(seconds(90));
  EXPECT_TRUE(usage.begin(limits));
  clock.advance(seconds(1));
  EXPECT_FALSE(usage.begin(limits));
}

TEST(KeyUsage, NothingIsOwedOnceALimitIsGone) {
  VirtualClock clock;
  KeyUsage usage(clock);
  KeyLimits limits;
  limits.requests_per_minute = 1;
  EXPECT_FALSE(usage.begin(limits));
  EXPECT_TRUE(usage.begin(limits));
  EXPECT_FALSE(usage.begin({}));
  EXPECT_FALSE(usage.begin(limits)) << "a limit that comes back begins anew";
}

TEST(KeyUsage, ARefusedRequestCostsNothing) {
  VirtualClock clock;
  KeyUsage usage(clock);
  KeyLimits limits;
  limits.requests_per_minute = 60;
  limits.concurrent_requests = 1;
  EXPECT_FALSE(usage.begin(limits));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(usage.begin(limits)->limit, "1 request at a time");
  usage.end();
  for (int i = 0; i < 59; ++i) {
    EXPECT_FALSE(usage.begin(limits)) << i;
    usage.end();
  }
  EXPECT_EQ(usage.begin(limits)->limit, "60 requests per minute");
}

TEST(KeyLimits, TooManyRequestsAreToldWhenToComeBackAndOtherKeysAreServed) {
  KeyedServer server(key_table("few", "f", "requests-per-minute = 1\n") + key_table("free", "x"));
  EXPECT_EQ(server.complete("f").status, 200);
  const Reply refused = server.complete("f");
  EXPECT_EQ(refused.status, 429);
  const int wait = std::stoi(refused.headers.at("retry-after"));
  EXPECT_GT(wait, 30);
  EXPECT_LE(wait, 61);
  EXPECT_EQ(error_of(refused)["type"], "rate_limit_error");
  EXPECT_THAT(error_of(refused)["message"].text(), HasSubstr("1 request per minute"));
  EXPECT_EQ(HttpClient(server.running.port()).get("/v1/models", bearer("f")).status, 200);
  EXPECT_EQ(server.complete("x").status, 200);
}

TEST(KeyLimits, TokensOfPromptAndOutputCountForStreamsToo) {
  test::FakeBehaviour behaviour;
  behaviour.reply = "0123456789";
  // Three of the prompt "hi", nine or ten of the output each. What is owed then takes 25 s to come
  // back; if the output of one of them did not count, nothing would be owed.
  KeyedServer server(key_table("t", "t", "tokens-per-minute = 17\n"), behaviour);
  EXPECT_EQ(server.complete("t", {{"stream", true}, {"max_tokens", 10}}).status, 200);
  EXPECT_EQ(server.complete("t", {{"max_tokens", 10}}).status, 200);
  EXPECT_EQ(server.complete("t").status, 429);
}

TEST(KeyLimits, AClientThatLeavesPaysForTheTokensItGot) {
  test::FakeBehaviour behaviour;
  behaviour.hold_after = 8;
  KeyedServer server(key_table("t", "t", "tokens-per-minute = 4\n"), behaviour);  // 11 are used
  {
    HttpClient client(server.running.port());
    client.send(test::post_request("/v1/completions",
                                   completion_body({{"stream", true}, {"max_tokens", 100}}).dump(),
                                   bearer("t")));
    client.read_head();
    read_output(client, 8);
  }
  ASSERT_TRUE(server.running.service.wait_until_idle());
  EXPECT_EQ(server.complete("t").status, 429);
}

TEST(KeyLimits, OnePlaceIsFreeAgainOnceTheRequestThatHeldItIsOver) {
  test::FakeBehaviour behaviour;
  behaviour.hold_after = 2;
  KeyedServer server(key_table("one", "o", "concurrent-requests = 1\n"), behaviour);
  auto& running = server.running;
  {
    HttpClient client(running.port());
    client.send(test::post_request("/v1/completions", completion_body({{"stream", true}}).dump(),
                                   bearer("o")));
    client.read_head();
    const Reply refused = server.complete("o");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.headers.at("retry-after"), "1");
  }  // the client leaves half-way
  running.service.release();
  EXPECT_TRUE(test::eventually([&] { return server.complete("o").status == 200; }));
  // A body that never ends holds the place, too. Its request is refused itself while one of the
  // complete ones has the place; then the next is sent.
  EXPECT_TRUE(test::eventually([&] {
    HttpClient half(running.port());
    half.send("POST /v1/completions HTTP/1.1\r\nHost: h\r\n" + bearer("o") +
              "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    return server.complete("o").status == 429;
  }));
  EXPECT_TRUE(test::eventually([&] { return server.complete("o").status == 200; }));
}

TEST(KeyLimits, AKeyBoundsChoicesAndTokensOfOneRequest) {
  KeyedServer server(key_table("small", "s", "max-choices = 2\nmax-tokens = 5\n"));
  EXPECT_EQ(server.complete("s", {{"n", 2}}).status, 200);
  const Reply wide = server.complete("s", {{"n", 3}});
  EXPECT_EQ(wide.status, 400);
  EXPECT_THAT(error_of(wide)["message"].text(), HasSubstr("2"));
  EXPECT_EQ(server.complete("s", {{"max_tokens", 5}}).status, 200);
  const Reply longer = server.complete("s", {{"max_tokens", 6}});
  EXPECT_EQ(longer.status, 400);
  EXPECT_THAT(error_of(longer)["message"].text(), HasSubstr("at most 5 per request"));
  EXPECT_EQ(server.complete("s", {{"ignore_eos", true}}).json()["usage"]["completion_tokens"], 5);
  HttpClient client(server.running.port());
  const auto chat = [&](const Json& extra) {
    return client.post("/v1/chat/completions", test::chat_body(extra).dump(), bearer("s"));
  };
  EXPECT_EQ(chat({{"ignore_eos", true}}).json()["usage"]["completion_tokens"], 5);
  EXPECT_EQ(chat({{"max_completion_tokens", 6}}).status, 400);
  EXPECT_EQ(chat({{"max_tokens", 6}}).status, 400);
}

TEST(KeyLimits, AKeyMayNotExceedTheServersOwnLimits) {
  const KeyFile file(key_table("wide", "w", "max-choices = 3\nmax-tokens = 100\n"));
  ServerOptions options = KeyedServer::options_for(file);
  options.routes.request_limits.max_choices = 2;
  options.routes.request_limits.max_tokens = 20;
  RunningServer running({}, options);
  const auto status = [&](const Json& extra) {
    return HttpClient(running.port())
        .post("/v1/completions", completion_body(extra).dump(), bearer("w"))
        .status;
  };
  EXPECT_EQ(status({{"n", 3}}), 400);
  EXPECT_EQ(status({{"max_tokens", 21}}), 400);
  EXPECT_EQ(status({{"n", 2}, {"max_tokens", 10}}), 200);
}

TEST(KeyLimits, AKeyRanksItsOwnRequestsAndItsBestPriorityCountsBeforeTheServers) {
  const KeyFile file(key_table("any", "a") + key_table("low", "l", "best-priority = 3\n") +
                     key_table("high", "h", "best-priority = -7\n"));
  const auto priorities = [&](const ServerOptions& options) {
    RunningServer running({}, options);
    for (const char* key : {"a", "l", "h"}) {
      HttpClient(running.port())
          .post("/v1/completions", completion_body({{"priority", -9}}).dump(), bearer(key));
    }
    std::vector<int> result;
    for (const auto& request : running.service.requests()) result.push_back(request.priority);
    return result;
  };
  ServerOptions options = KeyedServer::options_for(file);
  EXPECT_EQ(priorities(options), (std::vector{-9, 3, -7}));
  options.routes.request_limits.best_priority = -1;
  EXPECT_EQ(priorities(options), (std::vector{-1, 3, -7}));
}

TEST(KeyLimits, WithoutKeysNoRequestPassesThoseThatSayNothing) {
  const auto answer = [](const ServerOptions& options, const Json& extra) {
    RunningServer running({}, options);
    Reply reply = HttpClient(running.port()).post("/v1/completions", completion_body(extra).dump());
    return std::pair(running.service.requests().at(0).priority,
                     reply.headers.contains("warning") ? reply.headers.at("warning") : "");
  };
  const std::string lowered =
      "299 tandem \"the request has the priority 0, the best that it may have\"";
  EXPECT_EQ(answer({}, {{"priority", -9}}), std::pair(0, lowered));
  EXPECT_EQ(answer({}, {{"priority", 9}}), std::pair(9, std::string()));
  EXPECT_EQ(answer({}, {{"priority", -9}, {"cache_prompt", true}}).second,
            "299 tandem \"fields without a meaning here are ignored: cache_prompt\", " + lowered);
  ServerOptions trusting;
  trusting.routes.request_limits.best_priority = -100;
  EXPECT_EQ(answer(trusting, {{"priority", -9}}), std::pair(-9, std::string()));
}

TEST(Keys, ANameGoesWithEveryGeneration) {
  KeyedServer server(key_table("alice", "a"));
  EXPECT_EQ(server.complete("a", {{"n", 2}}).status, 200);
  const auto requests = server.running.service.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].caller, "alice");
  EXPECT_EQ(requests[1].caller, "alice");
  RunningServer open;
  HttpClient(open.port()).post("/v1/completions", completion_body());
  EXPECT_EQ(open.service.requests().at(0).caller, "");
}

TEST(Keys, ARoleOpensItsRoutesOnly) {
  KeyedServer server(key_table("u", "use") + key_table("m", "met", "role = \"metrics\"\n") +
                     key_table("a", "adm", "role = \"admin\"\n"));
  HttpClient client(server.running.port());
  const auto status = [&](const char* path, const char* key) {
    return client.get(path, bearer(key)).status;
  };
  for (const char* path : {"/metrics", "/status", "/status/requests"}) {
    EXPECT_EQ(status(path, "use"), 403) << path;
    EXPECT_EQ(status(path, "met"), 200) << path;
    EXPECT_EQ(status(path, "adm"), 200) << path;
  }
  EXPECT_EQ(status("/v1/models", "met"), 403);
  EXPECT_EQ(status("/admin/requests", "use"), 403);
  EXPECT_EQ(status("/admin/requests", "met"), 403);
  EXPECT_EQ(status("/admin/requests", "adm"), 200);
  EXPECT_EQ(server.complete("met").status, 403);
  EXPECT_EQ(server.complete("adm").status, 200);
  const Reply refused = client.get("/metrics", bearer("use"));
  EXPECT_EQ(error_of(refused)["code"], "role_missing");
  EXPECT_THAT(error_of(refused)["message"].text(), HasSubstr("needs the role metrics"));
  EXPECT_EQ(status("/nothing", "use"), 404);
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST(Keys, AReloadUnderLoadLosesNoRequestAndKeepsStreamsRunning) {
  test::FakeBehaviour behaviour;
  behaviour.hold_after = 5;
  KeyedServer server(key_table("stays", "s") + key_table("goes", "g"), behaviour);
  HttpClient stream(server.running.port());
  stream.send(test::post_request("/v1/completions", completion_body({{"stream", true}}).dump(),
                                 bearer("g")));
  EXPECT_EQ(stream.read_head().status, 200);
  server.file.write(key_table("stays", "s") + key_table("comes", "c"));
  std::atomic<bool> done{false};
  std::thread reloading([&] {
    do {  // once at least, however late this thread begins
      server.running.server->reload();
    } while (!done);
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(HttpClient(server.running.port()).get("/v1/models", bearer("s")).status, 200);
  }
  done = true;
  reloading.join();
  EXPECT_EQ(server.complete("g").status, 401);
  server.running.service.release();
  std::string events;
  for (std::string chunk = stream.read_chunk(); !chunk.empty(); chunk = stream.read_chunk()) {
    events += chunk;
  }
  EXPECT_THAT(events, HasSubstr("[DONE]")) << "the key is gone, its stream ends in order";
  EXPECT_EQ(server.complete("c").status, 200);
  server.file.write("two words\n");
  const test::EventLog log;
  try {
    server.running.server->reload();
    ADD_FAILURE() << "two words are no key";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 1: a key must be printable ASCII without blanks"));
  }
  EXPECT_THAT(log.text(), Not(HasSubstr("line 1"))) << "who is told once logs it";
  EXPECT_EQ(server.complete("c").status, 200);
}

TEST(Keys, UseIsCountedByName) {
  KeyedServer server(key_table("alice", "a") + key_table("bob", "b"));
  server.complete("a", {{"max_tokens", 4}});
  server.complete("a", {{"max_tokens", -1}});
  server.complete("b", {{"max_tokens", 4}});
  for (const char* series : {R"(tandem_key_requests_total{key="bob",status="2xx"} 1)",
                             R"(tandem_key_requests_total{key="alice",status="2xx"} 1)",
                             R"(tandem_key_requests_total{key="alice",status="4xx"} 1)",
                             R"(tandem_key_tokens_total{key="alice",kind="prompt"} 3)",
                             R"(tandem_key_tokens_total{key="alice",kind="generated"} 4)"}) {
    EXPECT_TRUE(test::eventually([&] {
      return server.running.metrics.text().find(series) != std::string::npos;
    })) << series;
  }
}

}  // namespace
}  // namespace tandem::server
