// SPDX-License-Identifier: Apache-2.0
//
// HTTP through real sockets: connections, limits, malformed input, deadlines, the end of the
// server.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::eventually;
using test::get_request;
using test::HttpClient;
using test::post_request;
using test::Reply;
using test::RunningServer;

ServerOptions options_with(const std::function<void(ServerOptions&)>& change) {
  ServerOptions options;
  change(options);
  return options;
}

TEST(Http, KeepsAConnectionForManyRequests) {
  RunningServer running;
  HttpClient client(running.port());
  for (int i = 0; i < 20; ++i) {
    const Reply reply = client.get("/health");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.headers.at("connection"), "keep-alive");
    EXPECT_EQ(client.post("/v1/completions", test::completion_body()).status, 200);
  }
}

TEST(Http, AnswersPipelinedRequestsInOrder) {
  RunningServer running;
  HttpClient client(running.port());
  std::string requests;
  for (int i = 0; i < 30; ++i) {
    requests += get_request("/health");
    const auto body = test::completion_body({{"max_tokens", 1 + i % 5}, {"stream", i % 2 == 0}});
    requests += post_request("/v1/completions", body.dump());
    requests += get_request("/nothing");
  }
  client.send(requests);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(client.read_reply().json()["status"], "ok");
    const Reply reply = client.read_reply();
    if (i % 2 == 0) {
      EXPECT_EQ(test::sse_objects(reply.body).size(), 1u + i % 5);
    } else {
      EXPECT_EQ(reply.json()["usage"]["completion_tokens"], 1 + i % 5);
    }
    EXPECT_EQ(client.read_reply().status, 404);
  }
}

TEST(Http, ClosesWhenAskedTo) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply reply = client.get("/health", "Connection: close\r\n");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Http, SpeaksVersionOneZero) {
  RunningServer running;
  HttpClient plain(running.port());
  plain.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(plain.read_reply().status, 200);
  EXPECT_TRUE(plain.closed_by_server());

  HttpClient stream(running.port());
  const std::string body = test::completion_body({{"stream", true}, {"max_tokens", 3}}).dump();
  stream.send(
      "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const Reply reply = stream.read_reply();  // until the end of the connection
  EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
  EXPECT_EQ(test::sse_objects(reply.body).size(), 3u);
}

TEST(Http, HeadAnswersWithoutABody) {
  RunningServer running;
  HttpClient client(running.port());
  client.send("HEAD /v1/models HTTP/1.1\r\nHost: h\r\n\r\n");
  const Reply reply = client.read_reply(true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_GT(std::stoi(reply.headers.at("content-length")), 0);
  EXPECT_EQ(client.get("/health").body, R"({"status":"ok"})");
}

TEST(Http, TakesChunkedBodies) {
  RunningServer running;
  HttpClient client(running.port());
  const std::string body = test::completion_body({{"max_tokens", 2}}).dump();
  std::string request =
      "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (const char c : body) request += std::string("1\r\n") + c + "\r\n";
  client.send(request + "0\r\n\r\n");
  EXPECT_EQ(client.read_reply().json()["choices"][0]["text"], "On");
}

TEST(Http, ContinuesWhenTheClientWaitsForIt) {
  RunningServer running;
  HttpClient client(running.port());
  const std::string body = test::completion_body().dump();
  const std::string request = post_request("/v1/completions", body, "Expect: 100-continue\r\n");
  client.send(request.substr(0, request.size() - body.size()));
  EXPECT_EQ(client.read_head().status, 100);
  client.send(body);
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST(Http, RefusesABodyBeforeItIsSent) {
  RunningServer running;
  HttpClient client(running.port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 413);
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Http, AnswersBeyondItsLimitsWithTheirStatus) {
  RunningServer running({}, options_with([](ServerOptions& options) {
                          options.limits.max_header_bytes = 2048;
                          options.limits.max_body_bytes = 1000;
                        }));
  HttpClient header(running.port());
  const Reply too_long = header.get("/health", "X: " + std::string(3000, 'x') + "\r\n");
  EXPECT_EQ(too_long.status, 431);
  EXPECT_EQ(too_long.json()["error"]["type"], "invalid_request_error");
  EXPECT_TRUE(header.closed_by_server());
  HttpClient body(running.port());
  EXPECT_EQ(body.post("/v1/completions", std::string(1001, ' ')).status, 413);
  EXPECT_TRUE(body.closed_by_server());
}

TEST(Http, AnswersMalformedRequestsWith400AndCloses) {
  RunningServer running;
  for (const char* bytes : {"GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n"}) {
    HttpClient client(running.port());
    client.send(bytes);
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 400) << bytes;
    EXPECT_TRUE(reply.json().contains("error"));
    EXPECT_TRUE(client.closed_by_server());
  }
  EXPECT_EQ(HttpClient(running.port()).get("/health").status, 200);
}

TEST(Http, ARequestThatStallsIsTold408) {
  RunningServer running({}, options_with([](ServerOptions& options) {
                          options.limits.read_timeout = std::chrono::milliseconds(50);
                        }));
  HttpClient client(running.port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: h\r\n");
  EXPECT_EQ(client.read_reply().status, 408);
  EXPECT_TRUE(client.closed_by_server());
}

// Its deadline moves to an earlier time than that of an idle connection.
TEST(Http, ALaterRequestThatStallsIsTold408) {
  RunningServer running({}, options_with([](ServerOptions& options) {
                          options.limits.read_timeout = std::chrono::milliseconds(500);
                          options.limits.idle_timeout = std::chrono::hours(1);
                        }));
  HttpClient client(running.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/health").status, 200);
  client.send("POST /v1/completions HTTP/1.1\r\nHost: h\r\n");
  EXPECT_EQ(client.read_reply().status, 408);
  EXPECT_TRUE(client.closed_by_server());
}

TEST(Http, AnIdleConnectionIsClosed) {
  RunningServer running({}, options_with([](ServerOptions& options) {
                          options.limits.idle_timeout = std::chrono::milliseconds(500);
                        }));
  HttpClient fresh(running.port());
  EXPECT_TRUE(fresh.closed_by_server());
  EXPECT_TRUE(test::answered_client(running.port())->closed_by_server());
}

TEST(Http, ConnectionsBeyondTheLimitAreTold503) {
  RunningServer running(
      {}, options_with([](ServerOptions& options) { options.limits.max_connections = 2; }));
  auto first = std::make_unique<HttpClient>(running.port());
  HttpClient second(running.port());
  EXPECT_EQ(first->get("/health").status, 200);
  EXPECT_EQ(second.get("/health").status, 200);
  HttpClient third(running.port());
  const Reply reply = third.get("/v1/models");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.at("retry-after"), "1");
  EXPECT_TRUE(third.closed_by_server());
  first.reset();
  EXPECT_TRUE(
      eventually([&] { return HttpClient(running.port()).get("/v1/models").status == 200; }));
}

TEST(Http, AnswersEveryOneOfAThousandConnections) {
  for (const int io_threads : {1, 2}) {
    RunningServer running(
        {}, options_with([&](ServerOptions& options) { options.num_io_threads = io_threads; }));
    int answered = 0;
    for (int i = 0; i < 1000; ++i) {
      HttpClient client(running.port());
      const Reply reply = i % 2 == 0 ? client.get("/health")
                                     : client.post("/v1/completions", test::completion_body());
      if (reply.status == 200) ++answered;
    }
    EXPECT_EQ(answered, 1000) << io_threads << " io threads";
  }
}

TEST(Http, ServesFiftyClientsAtOnce) {
  RunningServer running;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int client_index = 0; client_index < 50; ++client_index) {
    threads.emplace_back([&, client_index] {
      HttpClient client(running.port());
      for (int i = 0; i < 4; ++i) {
        const bool stream = (client_index + i) % 2 == 0;
        const Reply reply = client.post(
            "/v1/completions",
            test::completion_body({{"stream", stream}, {"max_tokens", 17}, {"n", 1 + i % 2}}));
        std::string text;
        if (stream) {
          for (const auto& chunk : test::sse_objects(reply.body)) {
            if (chunk["choices"][0]["index"] == 0) text += chunk["choices"][0]["text"];
          }
        } else {
          text = reply.json()["choices"][0]["text"];
        }
        if (text == "Once upon a time.") ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST(Http, CountsAnswersByRoute) {
  RunningServer running;
  HttpClient client(running.port());
  client.get("/health");
  client.get("/v1/models/other");
  client.get("/a/path/nobody/knows");
  const std::string text = running.metrics.text();
  for (const char* label :
       {R"(route="/health")", R"(route="/v1/models/{id}")", R"(route="other")"}) {
    EXPECT_NE(text.find(label), std::string::npos) << label << "\n" << text;
  }
  EXPECT_EQ(text.find("nobody"), std::string::npos);
}

TEST(Http, SaysWhyItCannotListen) {
  RunningServer running;
  test::FakeService service;
  ServerOptions options;
  options.listen.port = running.port();
  try {
    HttpServer second(options, service, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(running.port())), std::string::npos);
  }
  options.listen.host = "not a host name";
  EXPECT_THROW(HttpServer(options, service, nullptr), Error);
}

TEST(Http, RefusesOptionsThatMakeNoSense) {
  test::FakeService service;
  ServerOptions options;
  options.num_io_threads = 0;
  EXPECT_THROW(HttpServer(options, service, nullptr), Error);
}

TEST(Http, DrainLetsExchangesFinishAndTakesNoNewOnes) {
  RunningServer running({.hold_after = 2});
  HttpClient idle(running.port()), streaming(running.port()), waiting(running.port());
  EXPECT_EQ(idle.get("/health").status, 200);
  streaming.send(post_request("/v1/completions", test::completion_body({{"stream", true}}).dump()));
  EXPECT_EQ(streaming.read_head().status, 200);
  waiting.send(post_request("/v1/completions", test::completion_body().dump()));
  ASSERT_TRUE(eventually([&] { return running.service.num_running() == 2; }));
  EXPECT_FALSE(running.server->drain(Deadline::after(std::chrono::milliseconds(50))));
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_THROW(HttpClient(running.port()).get("/health"), test::ClosedByServer);
  running.service.release();
  const Reply last = waiting.read_reply();
  EXPECT_EQ(last.json()["choices"][0]["text"], "Once upon a time");
  EXPECT_EQ(last.headers.at("connection"), "close");
  std::string body;
  for (auto chunk = streaming.read_chunk(); !chunk.empty(); chunk = streaming.read_chunk()) {
    body += chunk;
  }
  EXPECT_EQ(test::sse_objects(body).back()["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(streaming.closed_by_server()) << "though its head said keep-alive";
  streaming.close();
  waiting.close();
  EXPECT_TRUE(running.server->drain(Deadline::after(std::chrono::seconds(60))));
}

TEST(Http, DrainListensNoMore) {
  RunningServer running;
  const std::uint16_t port = running.port();
  running.server->drain(Deadline::after(std::chrono::seconds(60)));
  const auto connects = [&] {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool done = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return done;
  };
  EXPECT_TRUE(eventually([&] { return !connects(); }));
}

TEST(Http, AStreamThatBeginsDuringADrainSaysThatItIsTheLast) {
  RunningServer running({.hold_tokenize = true});
  HttpClient client(running.port());
  client.send(post_request("/v1/completions", test::completion_body({{"stream", true}}).dump()));
  ASSERT_TRUE(eventually([&] { return running.service.num_tokenizing() == 1; }));
  EXPECT_FALSE(running.server->drain(Deadline::after(std::chrono::milliseconds(10))));
  running.service.release();
  EXPECT_EQ(client.read_head().headers.at("connection"), "close");
}

TEST(Http, StopCancelsWhatRuns) {
  auto running = std::make_unique<RunningServer>(test::FakeBehaviour{.hold_after = 1});
  HttpClient streaming(running->port()), waiting(running->port());
  streaming.send(post_request("/v1/completions", test::completion_body({{"stream", true}}).dump()));
  waiting.send(post_request("/v1/chat/completions", test::chat_body().dump()));
  ASSERT_TRUE(eventually([&] { return running->service.num_running() == 2; }));
  running->server->stop();
  EXPECT_TRUE(running->service.wait_until_idle());
  EXPECT_EQ(running->service.num_cancelled(), 2u);
  running->server->stop();
}

TEST(Http, SinksMayOutliveTheServer) {
  RunningServer running({.reply = "endless", .max_request_tokens = 1 << 20, .hold_after = 5});
  {
    HttpClient client(running.port());
    client.send(
        post_request("/v1/completions",
                     test::completion_body({{"max_tokens", 5000}, {"ignore_eos", true}}).dump()));
    ASSERT_TRUE(eventually([&] { return running.service.num_running() == 1; }));
  }
  running.server.reset();
  running.service.release();
  EXPECT_TRUE(running.service.wait_until_idle());
}

}  // namespace
}  // namespace tandem::server
