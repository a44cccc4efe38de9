// SPDX-License-Identifier: Apache-2.0
//
// /livez and /readyz, and that they answer whatever other clients hold.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>

#include "host/server/server_fixture.h"
#include "server/http/connection_set.h"
#include "server/openai/endpoints.h"

namespace tandem::server {
namespace {

using test::eventually;
using test::HttpClient;
using test::Reply;
using test::RunningServer;

ServerOptions with_connections(std::size_t most) {
  ServerOptions options;
  options.limits.max_connections = most;
  return options;
}

// A client on another address of the loopback network.
test::ConnectedSocket connect_from(const char* source, std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, source, &address.sin_addr);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return {socket};
}

std::vector<int> statuses(std::uint16_t port) {
  std::vector<int> result;
  for (const char* path : {"/livez", "/readyz", "/health"}) {
    result.push_back(HttpClient(port).get(path).status);
  }
  return result;
}

TEST(Probes, SayWhetherTheEngineComesRoundAndTakesRequests) {
  ServerOptions options;
  options.routes.live_timeout = std::chrono::seconds(10);
  options.routes.api_keys = {"secret"};  // they need none
  RunningServer running({}, options);
  EXPECT_EQ(statuses(running.port()), (std::vector<int>{200, 200, 200}));
  running.service.heartbeat_age_ms = 10'000;
  EXPECT_EQ(statuses(running.port()), (std::vector<int>{200, 200, 200}));
  running.service.heartbeat_age_ms = 10'001;
  EXPECT_EQ(statuses(running.port()), (std::vector<int>{503, 503, 200}));
  EXPECT_EQ(HttpClient(running.port()).get("/livez").body, R"({"status":"stalled"})");
  running.service.heartbeat_age_ms = 0;
  EXPECT_EQ(HttpClient(running.port()).get("/livez").body, R"({"status":"ok"})");
}

TEST(Probes, AServerThatTakesNoRequestsLivesButIsNotReady) {
  RunningServer running({.stopping = true});
  EXPECT_EQ(statuses(running.port()), (std::vector<int>{200, 503, 503}));
}

TEST(Probes, AnswerWhenIdleClientsHoldEveryConnectionAndEveryReservedOne) {
  RunningServer running({}, with_connections(3));
  std::deque<HttpClient> admitted, waiting;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(admitted.emplace_back(running.port()).get("/v1/models").status, 200);
  }
  for (int i = 0; i < 500; ++i) waiting.emplace_back(running.port());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(statuses(running.port()), (std::vector<int>{200, 200, 200}));
  }
  HttpClient other(running.port());
  const Reply refused = other.get("/v1/models");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("all 3 connections"), std::string::npos) << refused.body;
  EXPECT_TRUE(other.closed_by_server());
  for (HttpClient& client : admitted) EXPECT_EQ(client.get("/v1/models").status, 200);
}

TEST(Probes, AProbeOnAReservedConnectionIsItsLastRequest) {
  RunningServer running({}, with_connections(1));
  HttpClient first(running.port());
  ASSERT_EQ(first.get("/health").headers.at("connection"), "keep-alive");
  HttpClient probe(running.port());
  EXPECT_EQ(probe.get("/livez").headers.at("connection"), "close");
  EXPECT_TRUE(probe.closed_by_server());
}

TEST(Probes, ANewClientThatSendsNothingIsClosedSoonerThanOneThatHasAsked) {
  ServerOptions options;
  options.limits.first_byte_timeout = std::chrono::milliseconds(500);
  RunningServer running({}, options);
  const auto used = test::answered_client(running.port());
  HttpClient fresh(running.port());
  EXPECT_TRUE(fresh.closed_by_server());
  EXPECT_EQ(used->get("/health").status, 200);
}

TEST(Probes, AReservedConnectionThatSendsNothingIsClosedSoon) {
  ServerOptions options = with_connections(1);
  options.limits.first_byte_timeout = std::chrono::hours(1);
  options.limits.idle_timeout = std::chrono::hours(1);
  RunningServer running({}, options);
  HttpClient first(running.port());
  ASSERT_EQ(first.get("/health").status, 200);
  EXPECT_TRUE(HttpClient(running.port()).closed_by_server());
}

TEST(Limits, OneAddressMayHoldOnlyItsShareOfTheConnections) {
  ServerOptions options = with_connections(10);
  options.limits.max_connections_per_address = 2;
  RunningServer running({}, options);
  auto first = std::make_unique<HttpClient>(running.port());
  HttpClient second(running.port()), third(running.port());
  EXPECT_EQ(first->get("/v1/models").status, 200);
  EXPECT_EQ(second.get("/v1/models").status, 200);
  const Reply refused = third.get("/v1/models");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("your address has 2 connections"), std::string::npos);
  EXPECT_EQ(HttpClient(connect_from("127.0.0.2", running.port())).get("/v1/models").status, 200);
  first.reset();
  EXPECT_TRUE(
      eventually([&] { return HttpClient(running.port()).get("/v1/models").status == 200; }));
}

// How many of `tries` connections the set admits.
int admitted(http::ConnectionSet& set, const http::PeerAddress& peer, int tries) {
  int result = 0;
  for (int i = 0; i < tries; ++i) {
    const auto admission = set.admit(peer);
    if (admission && admission->turned_away.empty()) ++result;
  }
  return result;
}

TEST(Limits, ByDefaultAnotherMachineMayHoldHalfAndThisMachineAll) {
  http::Limits limits;
  limits.max_connections = 10;
  http::ConnectionSet of_others(limits), of_this(limits);
  EXPECT_EQ(admitted(of_others, {"\x0a\x01\x01\x01", {"10.1.1.1", false}}, 20), 5);
  EXPECT_EQ(admitted(of_others, {"\x0a\x01\x01\x02", {"10.1.1.2", false}}, 3), 3);
  EXPECT_EQ(admitted(of_this, {"\x7f\x01\x01\x01", {"127.1.1.1", true}}, 20), 10);
}

TEST(Limits, ConnectionsThatAreTurnedAwayAreBoundedToo) {
  http::Limits limits;
  limits.max_connections = 1;
  http::ConnectionSet set(limits);
  std::size_t given = 0;
  for (int i = 0; i < 1000; ++i) given += set.admit({}).has_value() ? 1 : 0;
  EXPECT_EQ(given, 1 + 2 * http::ConnectionSet::kReserved);
}

TEST(Probes, LostDevicesDegradeAHealthyServerAndAnUnhealthyOneStaysUnhealthy) {
  EXPECT_EQ(openai::health_body(true, {}), R"({"status":"ok"})");
  EXPECT_EQ(openai::health_body(true, {"card"}), R"({"lost":["card"],"status":"degraded"})");
  EXPECT_EQ(openai::health_body(false, {"card"}), R"({"lost":["card"],"status":"unhealthy"})");
}

}  // namespace
}  // namespace tandem::server
