// SPDX-License-Identifier: Apache-2.0
//
// A host with several addresses is listened on at all of them.
#include "server/http/listener.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "host/server/server_fixture.h"

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

}  // namespace
}  // namespace tandem::server::http
