// SPDX-License-Identifier: Apache-2.0
//
// Every listening socket accepts on its own strand. When the process has no free file descriptor,
// accepting pauses and then resumes.
#include "server/http/listener.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "common/error.h"

namespace tandem::server::http {
namespace asio = boost::asio;
using asio::ip::tcp;

// All connections. Each of them keeps the set, so that the last may outlive the listener.
class ConnectionSet {
 public:
  // A connection counts from reserve() to remove(); from add() on it can be drained and aborted.
  std::uint64_t reserve() {
    std::lock_guard lock(mutex_);
    connections_.emplace(next_id_, std::weak_ptr<Connection>());
    return next_id_++;
  }

  void add(std::uint64_t id, const std::shared_ptr<Connection>& connection) {
    std::lock_guard lock(mutex_);
    if (draining_) connection->drain();
    if (aborting_) connection->abort();
    connections_[id] = connection;
  }

  void remove(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    connections_.erase(id);
    if (connections_.empty()) empty_.notify_all();
  }

  std::size_t size() {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }

  std::vector<std::shared_ptr<Connection>> live(bool draining, bool aborting) {
    std::lock_guard lock(mutex_);
    draining_ = draining_ || draining;
    aborting_ = aborting_ || aborting;
    std::vector<std::shared_ptr<Connection>> result;
    for (const auto& [id, weak] : connections_) {
      if (auto connection = weak.lock()) result.push_back(std::move(connection));
    }
    return result;
  }

  bool wait_until_empty(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return empty_.wait_for(lock, deadline.remaining(), [&] { return connections_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Connection>> connections_;
  std::uint64_t next_id_ = 1;
  bool draining_ = false, aborting_ = false;
};

namespace {
constexpr std::size_t kTurnedAway = 64;  // connections at a time that are told 503
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);
constexpr int kPortTries = 20;  // a port free on one address may be taken on the next

bool is_absent(const boost::system::error_code& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available;
}

// One attempt at listen_on_all().
std::vector<tcp::acceptor> listen_once(asio::io_context& io, std::vector<tcp::endpoint> endpoints) {
  std::vector<tcp::acceptor> acceptors;
  std::uint16_t port = endpoints.front().port();
  for (tcp::endpoint endpoint : endpoints) {
    endpoint.port(port);
    tcp::acceptor acceptor(asio::make_strand(io));
    try {
      acceptor.open(endpoint.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      if (endpoints.size() > 1 && endpoint.protocol() == tcp::v6()) {
        acceptor.set_option(asio::ip::v6_only(true));  // or [::] would take 0.0.0.0 as well
      }
      acceptor.bind(endpoint);
      acceptor.listen();
    } catch (const boost::system::system_error& error) {
      const bool is_last_hope =
          acceptors.empty() && endpoint.address() == endpoints.back().address();
      if (!is_absent(error.code()) || is_last_hope) throw;
      spdlog::warn("[server] not listening on {}: {}", endpoint.address().to_string(),
                   error.code().message());
      continue;
    }
    port = acceptor.local_endpoint().port();
    acceptors.push_back(std::move(acceptor));
  }
  return acceptors;
}
}  // namespace

std::vector<tcp::acceptor> listen_on_all(asio::io_context& io,
                                         std::vector<tcp::endpoint> endpoints) {
  std::vector<tcp::endpoint> distinct;
  for (const tcp::endpoint& endpoint : endpoints) {
    if (std::find(distinct.begin(), distinct.end(), endpoint) == distinct.end()) {
      distinct.push_back(endpoint);
    }
  }
  for (int attempt = 1;; ++attempt) {
    try {
      return listen_once(io, distinct);
    } catch (const boost::system::system_error& error) {
      const bool may_choose = distinct.front().port() == 0 && distinct.size() > 1;
      if (error.code() != asio::error::address_in_use || !may_choose || attempt == kPortTries) {
        throw;
      }
    }
  }
}

Listener::Listener(asio::io_context& io, const std::string& host, std::uint16_t port,
                   std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate)
    : io_(io),
      hooks_(std::move(hooks)),
      gate_(std::move(gate)),
      connections_(std::make_shared<ConnectionSet>()) {
  try {
    const auto found = tcp::resolver(io).resolve(
        host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service);
    std::vector<tcp::endpoint> endpoints;
    for (const auto& entry : found) endpoints.push_back(entry.endpoint());
    for (tcp::acceptor& acceptor : listen_on_all(io, std::move(endpoints))) {
      sockets_.emplace_back(std::move(acceptor));
    }
    port_ = sockets_.front().acceptor.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw Error("server", "cannot listen on " + host + " port " + std::to_string(port) + ": " +
                              error.code().message() + "; choose another host or port");
  }
}

void Listener::start() {
  for (Socket& on : sockets_) {
    asio::post(on.acceptor.get_executor(), [self = shared_from_this(), &on] { self->accept(on); });
  }
}

void Listener::stop_accepting() {
  for (Socket& on : sockets_) {
    asio::post(on.acceptor.get_executor(), [self = shared_from_this(), &on] {
      boost::system::error_code ignored;
      on.acceptor.close(ignored);
      on.retry_timer.cancel();
    });
  }
}

void Listener::accept(Socket& on) {
  on.acceptor.async_accept(asio::make_strand(io_),
                           [self = shared_from_this(), &on](const boost::system::error_code& error,
                                                            Connection::Socket socket) {
                             self->on_accept(on, error, std::move(socket));
                           });
}

void Listener::on_accept(Socket& on, const boost::system::error_code& error,
                         Connection::Socket socket) {
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
  const std::size_t open = connections_->size();
  if (open < hooks_->limits.max_connections + kTurnedAway) {
    const std::uint64_t id = connections_->reserve();
    const auto connection = std::make_shared<Connection>(std::move(socket), hooks_, gate_,
                                                         open >= hooks_->limits.max_connections,
                                                         [set = connections_, hooks = hooks_, id] {
                                                           if (hooks->closed) hooks->closed();
                                                           set->remove(id);
                                                         });
    if (hooks_->opened) hooks_->opened();
    connections_->add(id, connection);
    connection->start();
  }
  accept(on);
}

void Listener::drain_connections() {
  for (const auto& connection : connections_->live(true, false)) connection->drain();
}

void Listener::abort_connections() {
  for (const auto& connection : connections_->live(true, true)) connection->abort();
}

bool Listener::wait_until_empty(Deadline deadline) {
  return connections_->wait_until_empty(deadline);
}

}  // namespace tandem::server::http
