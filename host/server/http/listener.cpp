// SPDX-License-Identifier: Apache-2.0
//
// Accepts on a strand of its own. Running out of file descriptors pauses accepting for a moment
// instead of ending it.
#include "server/http/listener.h"

#include <spdlog/spdlog.h>

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

// The connections that exist. Kept by every connection, so that the last may outlive the listener.
class ConnectionSet {
 public:
  // A connection is counted from reserve() to remove(), and reached from add() on.
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
}  // namespace

Listener::Listener(asio::io_context& io, const std::string& host, std::uint16_t port,
                   std::shared_ptr<const Hooks> hooks, std::shared_ptr<PostGate> gate)
    : io_(io),
      acceptor_(asio::make_strand(io)),
      retry_timer_(acceptor_.get_executor()),
      hooks_(std::move(hooks)),
      gate_(std::move(gate)),
      connections_(std::make_shared<ConnectionSet>()) {
  try {
    const auto found = tcp::resolver(io).resolve(
        host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service);
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw Error("server", "cannot listen on " + host + " port " + std::to_string(port) + ": " +
                              error.code().message() + "; choose another host or port");
  }
}

void Listener::start() {
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] { self->accept(); });
}

void Listener::stop_accepting() {
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
    boost::system::error_code ignored;
    self->acceptor_.close(ignored);
    self->retry_timer_.cancel();
  });
}

void Listener::accept() {
  acceptor_.async_accept(asio::make_strand(io_),
                         [self = shared_from_this()](const boost::system::error_code& error,
                                                     Connection::Socket socket) {
                           self->on_accept(error, std::move(socket));
                         });
}

void Listener::on_accept(const boost::system::error_code& error, Connection::Socket socket) {
  if (!acceptor_.is_open()) return;
  if (error) {
    spdlog::warn("[server] accept: {}; trying again", error.message());
    retry_timer_.expires_after(kAcceptRetry);
    retry_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& waited) {
      if (!waited && self->acceptor_.is_open()) self->accept();
    });
    return;
  }
  const std::size_t open = connections_->size();
  if (open < hooks_->limits.max_connections + kTurnedAway) {
    const std::uint64_t id = connections_->reserve();
    const auto connection = std::make_shared<Connection>(
        std::move(socket), hooks_, gate_, open >= hooks_->limits.max_connections,
        [set = connections_, id] { set->remove(id); });
    connections_->add(id, connection);
    connection->start();
  }
  accept();
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
