// SPDX-License-Identifier: Apache-2.0
//
// Listener: the listening sockets, one per address of the host, and their connections.
//
// Beyond max_connections a client gets 503; far beyond, its connection is closed at once.
// Threads: all calls from one controlling thread; the io_context may run on any number.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/deadline.h"
#include "server/http/connection.h"
#include "server/http/post_gate.h"

namespace tandem::server::http {

class ConnectionSet;

// One listening socket per endpoint, each on its own strand. All listen on the port of the first
// endpoint; if that is 0, on one port that is free on all addresses. Addresses that this machine
// lacks are left out if another works. Throws boost::system::system_error.
std::vector<boost::asio::ip::tcp::acceptor> listen_on_all(
    boost::asio::io_context& io, std::vector<boost::asio::ip::tcp::endpoint> endpoints);

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Binds and listens on every address of `host`; port 0 takes any free one. Throws Error("server",
  // ...) naming host and port.
  Listener(boost::asio::io_context& io, const std::string& host, std::uint16_t port,
           std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate);

  std::uint16_t port() const { return port_; }
  void start();
  void stop_accepting();

  void drain_connections();
  void abort_connections();
  bool wait_until_empty(Deadline deadline);  // false when the deadline passed first

 private:
  struct Socket {
    explicit Socket(boost::asio::ip::tcp::acceptor listening)
        : acceptor(std::move(listening)), retry_timer(acceptor.get_executor()) {}
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::steady_timer retry_timer;
  };

  void accept(Socket& on);
  void on_accept(Socket& on, const boost::system::error_code& error, Connection::Socket socket);

  boost::asio::io_context& io_;
  std::deque<Socket> sockets_;  // each is touched on its own strand only
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<PostGate> gate_;
  std::shared_ptr<ConnectionSet> connections_;
  std::uint16_t port_ = 0;
};

}  // namespace tandem::server::http
