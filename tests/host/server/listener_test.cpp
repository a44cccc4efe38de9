// SPDX-License-Identifier: Apache-2.0
//
// A host with several addresses is listened on at all of them.
#include "server/http/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "common/error.h"
#include "host/server/server_fixture.h"
#include "server/http/connection_set.h"

namespace tandem::server::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

tcp::endpoint at(const char* address, std::uint16_t port = 0) {
  return {asio::ip::make_address(address), port};
}

bool connects(asio::io_context& io, const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  tcp::socket(io).connect(endpoint, error);
  return !error;
}

bool has_ipv6(asio::io_context& io) {
  boost::system::error_code error;
  tcp::acceptor acceptor(io);
  acceptor.open(tcp::v6(), error);
  if (!error) acceptor.bind(at("::1"), error);
  return !error;
}

TEST(Listener, ListensOnEveryAddressAtOnePort) {
  asio::io_context io;
  std::vector<const char*> addresses = {"127.0.0.1", "127.0.0.2", "127.0.0.1"};
  if (has_ipv6(io)) addresses.push_back("::1");
  std::vector<tcp::endpoint> endpoints;
  for (const char* address : addresses) endpoints.push_back(at(address));
  const auto acceptors = listen_on_all(io, endpoints);
  EXPECT_EQ(acceptors.size(), addresses.size() - 1) << "one address was there twice";
  const std::uint16_t port = acceptors.front().local_endpoint().port();
  for (const char* address : addresses) EXPECT_TRUE(connects(io, at(address, port))) << address;
  EXPECT_FALSE(connects(io, at("127.0.0.3", port)));
}

TEST(Listener, TakesAnAddressInBracketsAsAUrlHasIt) {
  asio::io_context io;
  if (!has_ipv6(io)) GTEST_SKIP() << "needs IPv6";
  auto acceptors = listen_on_host(io, "[::1]", 0);
  ASSERT_EQ(acceptors.size(), 1u);
  EXPECT_TRUE(connects(io, at("::1", local_address(acceptors.front()).port)));
  EXPECT_THROW(listen_on_host(io, "[", 0), Error);
  EXPECT_THROW(listen_on_host(io, "[]", 0), Error) << "not every address of the machine";
}

TEST(Listener, LeavesOutAnAddressOfAnotherMachine) {
  asio::io_context io;
  const auto acceptors = listen_on_all(io, {at("192.0.2.1"), at("127.0.0.1")});  // TEST-NET-1
  ASSERT_EQ(acceptors.size(), 1u);
  EXPECT_THROW(listen_on_all(io, {at("192.0.2.1")}), boost::system::system_error);
  const std::uint16_t port = acceptors.front().local_endpoint().port();
  EXPECT_THROW(listen_on_all(io, {at("127.0.0.2", port), at("127.0.0.1", port)}),
               boost::system::system_error)
      << "a port in use on one of the addresses is no address to leave out";
}

TEST(Listener, LocalhostAnswersOnWhateverItsAddressesAre) {
  ServerOptions options;
  options.listen.host = "localhost";
  test::RunningServer running({}, options);
  asio::io_context io;
  const auto found = tcp::resolver(io).resolve("localhost", std::to_string(running.port()));
  for (const auto& entry : found) {
    tcp::socket socket(io);
    socket.connect(entry.endpoint());
    asio::write(socket, asio::buffer(test::get_request("/health")));
    std::string status(12, '\0');
    asio::read(socket, asio::buffer(status));
    EXPECT_EQ(status, "HTTP/1.1 200") << entry.endpoint().address();
  }
}

// Whether the set closes a connection that comes only now. `admit` returns its number.
bool closes(const std::function<std::uint64_t(ConnectionSet&)>& admit) {
  asio::io_context io;
  Acceptor acceptor = std::move(listen_on_all(io, {at("127.0.0.1")}).front());
  tcp::socket client(io);
  client.connect(at("127.0.0.1", local_address(acceptor).port));
  const auto hooks = std::make_shared<Hooks>();
  Limits limits;
  limits.max_connections = 1;
  ConnectionSet set(limits);
  const auto id = admit(set);
  bool is_gone = false;
  auto connection = std::make_shared<Connection>(make_plain_stream(acceptor.accept()), hooks,
                                                 std::make_shared<PostGate>(), Peer{}, "",
                                                 [&] { is_gone = true; });
  set.add(id, connection);
  connection->start();
  connection.reset();
  io.run_for(std::chrono::seconds(1));  // it waits 10 s for the first byte
  return is_gone;
}

TEST(ConnectionSet, AConnectionThatComesDuringADrainOrTheEndCloses) {
  EXPECT_FALSE(closes([](ConnectionSet& set) { return set.admit({})->id; }));
  EXPECT_TRUE(closes([](ConnectionSet& set) {
    const auto id = set.admit({})->id;
    set.drain();
    return id;
  }));
  EXPECT_TRUE(closes([](ConnectionSet& set) {
    const auto id = set.admit({})->id;
    set.abort();
    return id;
  }));
}

TEST(ConnectionSet, AReservedPlaceThatWasTakenBeforeItsConnectionCameClosesIt) {
  const auto nth_reserved = [](ConnectionSet& set, std::size_t number) {
    set.admit({});
    const auto first = set.admit({})->id;
    for (std::size_t i = 1; i < number; ++i) set.admit({});
    return first;
  };
  EXPECT_FALSE(
      closes([&](ConnectionSet& set) { return nth_reserved(set, ConnectionSet::kReserved); }));
  EXPECT_TRUE(
      closes([&](ConnectionSet& set) { return nth_reserved(set, ConnectionSet::kReserved + 1); }));
  EXPECT_FALSE(closes([&](ConnectionSet& set) {
    const auto first = nth_reserved(set, 1);
    for (std::size_t i = 0; i < 2 * ConnectionSet::kReserved; ++i) set.remove(set.admit({})->id);
    return first;
  })) << "places that are free again take none away";
}

// A server whose requests all go to `handle`.
struct HandlingServer {
  explicit HandlingServer(std::function<void(Exchange&)> handle) {
    auto hooks = std::make_shared<Hooks>();
    hooks->admit = [](Request&) { return std::nullopt; };
    hooks->handle = std::move(handle);
    hooks->error_response = [](int status, const std::string& message) {
      Response answer;
      answer.status = status;
      answer.body = message;
      return answer;
    };
    hooks->finalize = [](Request&, Response&) {};
    hooks->ended = [this](const Request&, std::uint64_t, ExchangeEnd how) { last_end = how; };
    listener = std::make_shared<Listener>(io, ListenOptions{.host = "127.0.0.1", .port = 0}, hooks,
                                          std::make_shared<PostGate>());
    listener->start();
    thread = std::thread([this] { io.run(); });
  }
  ~HandlingServer() {
    listener->stop_accepting();
    listener->abort_connections();
    thread.join();
  }

  std::shared_ptr<int> held = std::make_shared<int>(0);  // what a handler may put into an answer
  std::atomic<ExchangeEnd> last_end{ExchangeEnd::kComplete};
  asio::io_context io;
  std::shared_ptr<Listener> listener;
  std::thread thread;
};

TEST(Handlers, OneThatFailsIsAnswered500AndTheConnectionGoesOn) {
  HandlingServer server([](Exchange&) { throw std::runtime_error("broken"); });
  test::HttpClient client(server.listener->port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/").status, 500);
}

TEST(Handlers, AStreamWhoseHandlerFailsIsClosed) {
  HandlingServer server([](Exchange& exchange) {
    exchange.begin_stream({});
    exchange.write("a part");
    throw std::runtime_error("broken");
  });
  test::HttpClient client(server.listener->port());
  client.send(test::get_request("/"));
  EXPECT_TRUE(test::eventually([&] { return server.last_end == ExchangeEnd::kFailed; }));
}

// Every request gets a 429 with the delay.
struct DelayingServer : HandlingServer {
  explicit DelayingServer(std::chrono::milliseconds delay)
      : HandlingServer([this, delay](Exchange& exchange) {
          Response answer;
          answer.status = 429;
          answer.body = "later";
          answer.held = held;
          answer.delay = exchange.request().path == "/now" ? std::chrono::milliseconds(0) : delay;
          exchange.respond(std::move(answer));
        }) {}

  bool ended_complete() const { return last_end == ExchangeEnd::kComplete; }
};

bool has_bytes(const test::HttpClient& client) {
  char byte = 0;
  return ::recv(client.descriptor(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

TEST(DelayedAnswers, WaitAloneAndEndWithTheirClient) {
  DelayingServer server(std::chrono::hours(1));
  {
    test::HttpClient waiting(server.listener->port()), other(server.listener->port());
    waiting.send(test::get_request("/"));
    ASSERT_TRUE(test::eventually([&] { return server.held.use_count() > 1; }));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(other.get("/now").status, 429);
    EXPECT_FALSE(has_bytes(waiting));
    EXPECT_TRUE(server.ended_complete());
  }
  EXPECT_TRUE(test::eventually([&] { return !server.ended_complete(); }));
  EXPECT_TRUE(test::eventually([&] { return server.held.use_count() == 1; }));
}

TEST(DelayedAnswers, AreSentWholeAndTheConnectionGoesOn) {
  DelayingServer server(std::chrono::milliseconds(1));
  test::HttpClient client(server.listener->port());
  for (int i = 0; i < 20; ++i) {
    const test::Reply reply = client.get("/");
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.body, "later");
    EXPECT_EQ(reply.headers.at("connection"), "keep-alive");
  }
  EXPECT_TRUE(test::eventually([&] { return server.held.use_count() == 1; }));
}

TEST(DelayedAnswers, AServerThatDrainsDelaysNothingMore) {
  DelayingServer server(std::chrono::hours(1));
  test::HttpClient client(server.listener->port());
  client.send("GET / HTTP/1.1\r\n");  // its request has begun
  EXPECT_EQ(test::HttpClient(server.listener->port()).get("/now").status, 429);
  server.listener->drain_connections();
  client.send("Host: h\r\n\r\n");
  EXPECT_EQ(client.read_reply().headers.at("connection"), "close");
}

}  // namespace
}  // namespace tandem::server::http
