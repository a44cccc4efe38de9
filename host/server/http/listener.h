// SPDX-License-Identifier: Apache-2.0
//
// Listener: the listening socket and the connections it accepted.
//
// Beyond max_connections a client is told 503; far beyond, its connection is closed at once.
// Threads: all calls from one controlling thread; the io_context may run on any number.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "common/deadline.h"
#include "server/http/connection.h"
#include "server/http/post_gate.h"

namespace tandem::server::http {

class ConnectionSet;

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Binds and listens; port 0 takes any free one. Throws Error("server", ...) naming host and port.
  Listener(boost::asio::io_context& io, const std::string& host, std::uint16_t port,
           std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate);

  std::uint16_t port() const { return port_; }
  void start();
  void stop_accepting();

  void drain_connections();
  void abort_connections();
  bool wait_until_empty(Deadline deadline);  // false when the deadline passed first

 private:
  void accept();
  void on_accept(const boost::system::error_code& error, Connection::Socket socket);

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_timer_;
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<PostGate> gate_;
  std::shared_ptr<ConnectionSet> connections_;
  std::uint16_t port_ = 0;
};

}  // namespace tandem::server::http
