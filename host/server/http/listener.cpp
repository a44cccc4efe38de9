// SPDX-License-Identifier: Apache-2.0
//
// Every listening socket accepts on its own strand. When the process has no free file descriptor,
// accepting pauses and then resumes.
#include "server/http/listener.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

namespace tandem::server::http {
namespace asio = boost::asio;

namespace {
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);
}  // namespace

Listener::Listener(asio::io_context& io, const ListenOptions& options,
                   std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate)
    : io_(io),
      hooks_(std::move(hooks)),
      gate_(std::move(gate)),
      connections_(std::make_shared<ConnectionSet>(hooks_->limits)) {
  for (const int descriptor : options.inherited) add(adopt_socket(io, descriptor));
  if (!options.inherited.empty()) return;
  if (!options.host.empty()) {
    for (Acceptor& acceptor : listen_on_host(io, options.host, options.port)) {
      add(std::move(acceptor));
    }
  }
  if (options.unix_path.empty()) return;
  add(listen_on_path(io, options.unix_path, options.unix_mode));
  own_path_ = options.unix_path;
}

// Removes the file only if nobody listens there: another process may have replaced it.
Listener::~Listener() {
  if (own_path_.empty()) return;
  sockets_.clear();
  try {
    remove_stale_socket(own_path_);
  } catch (const std::exception& error) {
    spdlog::debug("[server] {}", error.what());
  }
}

void Listener::add(Acceptor acceptor) {
  addresses_.push_back(local_address(acceptor));
  sockets_.emplace_back(std::move(acceptor), addresses_.back().is_unix);
}

std::uint16_t Listener::port() const {
  for (const LocalAddress& address : addresses_) {
    if (!address.is_unix) return address.port;
  }
  return 0;
}

void Listener::set_tls(std::shared_ptr<TlsKeys> keys) {
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(keys);
}

void Listener::start() {
  for (Listening& on : sockets_) {
    asio::post(on.acceptor.get_executor(), [self = shared_from_this(), &on] { self->accept(on); });
  }
}

void Listener::stop_accepting() {
  for (Listening& on : sockets_) {
    asio::post(on.acceptor.get_executor(), [self = shared_from_this(), &on] {
      boost::system::error_code ignored;
      on.acceptor.close(ignored);
      on.retry_timer.cancel();
    });
  }
}

void Listener::accept(Listening& on) {
  on.acceptor.async_accept(
      asio::make_strand(io_),
      [self = shared_from_this(), &on](const boost::system::error_code& error, Socket socket) {
        self->on_accept(on, error, std::move(socket));
      });
}

std::unique_ptr<Stream> Listener::make_stream(const Listening& on, Socket socket) {
  set_client_options(socket, hooks_->limits.vanished_timeout, hooks_->limits.stall_timeout);
  std::shared_ptr<TlsKeys> keys;
  if (!on.is_unix) {
    const std::lock_guard lock(tls_mutex_);
    keys = tls_;
  }
  return keys ? make_tls_stream(std::move(socket), std::move(keys))
              : make_plain_stream(std::move(socket));
}

void Listener::on_accept(Listening& on, const boost::system::error_code& error, Socket socket) {
  if (!on.acceptor.is_open()) return;
  if (error) {
    spdlog::warn("[server] accept: {}; trying again", error.message());
    on.retry_timer.expires_after(kAcceptRetry);
    on.retry_timer.async_wait(
        [self = shared_from_this(), &on](const boost::system::error_code& waited) {
          if (!waited && on.acceptor.is_open()) self->accept(on);
        });
    return;
  }
  PeerAddress peer = peer_address(socket);
  if (auto admission = connections_->admit(peer)) {
    const auto id = admission->id;
    const auto connection = std::make_shared<Connection>(
        make_stream(on, std::move(socket)), hooks_, gate_, std::move(peer.shown),
        std::move(admission->turned_away), [set = connections_, hooks = hooks_, id] {
          if (hooks->closed) hooks->closed();
          set->remove(id);
        });
    if (hooks_->opened) hooks_->opened();
    connections_->add(id, connection);
    connection->start();
  }
  accept(on);
}

}  // namespace tandem::server::http
