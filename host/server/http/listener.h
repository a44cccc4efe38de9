// SPDX-License-Identifier: Apache-2.0
//
// Listener: the listening sockets and their connections.
//
// Connections beyond the limits are refused (connection_set.h). TCP connections use TLS if keys are
// set; Unix sockets never do. Threads: all calls from one controlling thread, except set_tls(),
// which any thread may call; the io_context may run on any number of threads.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/deadline.h"
#include "server/http/connection.h"
#include "server/http/connection_set.h"
#include "server/http/listen_options.h"
#include "server/http/post_gate.h"
#include "server/http/sockets.h"
#include "server/http/tls.h"

namespace tandem::server::http {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Binds and listens. Throws Error("server", ...) naming the address on which it cannot listen.
  Listener(boost::asio::io_context& io, const ListenOptions& options,
           std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate);
  ~Listener();

  std::uint16_t port() const;  // port of the first TCP socket; 0: there is none
  const std::vector<LocalAddress>& addresses() const { return addresses_; }

  void set_tls(std::shared_ptr<TlsKeys> keys);  // keys of new connections; null: no TLS

  void start();
  void stop_accepting();

  void drain_connections() { connections_->drain(); }
  void end_exchanges() { connections_->end_exchanges(); }
  void abort_connections() { connections_->abort(); }
  bool wait_until_empty(Deadline deadline) { return connections_->wait_until_empty(deadline); }

 private:
  struct Listening {
    Listening(Acceptor listening, bool is_unix_socket)
        : acceptor(std::move(listening)),
          retry_timer(acceptor.get_executor()),
          is_unix(is_unix_socket) {}
    Acceptor acceptor;
    boost::asio::steady_timer retry_timer;
    bool is_unix;
  };

  void add(Acceptor acceptor);
  void accept(Listening& on);
  void on_accept(Listening& on, const boost::system::error_code& error, Socket socket);
  std::unique_ptr<Stream> make_stream(const Listening& on, Socket socket);

  boost::asio::io_context& io_;
  std::deque<Listening> sockets_;  // each is touched on its own strand only
  std::vector<LocalAddress> addresses_;
  std::string own_path_;  // of a Unix socket that this listener has made
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<PostGate> gate_;
  std::shared_ptr<ConnectionSet> connections_;
  std::mutex tls_mutex_;
  std::shared_ptr<TlsKeys> tls_;
};

}  // namespace tandem::server::http
