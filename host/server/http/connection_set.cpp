// SPDX-License-Identifier: Apache-2.0
//
// Counts by address include only admitted connections.
#include "server/http/connection_set.h"

#include <algorithm>

#include "common/counted.h"

namespace tandem::server::http {

std::string ConnectionSet::reason_to_turn_away(const PeerAddress& peer) const {
  if (num_admitted_ >= limits_.max_connections) {
    return "all " + std::to_string(limits_.max_connections) +
           " connections are in use; try again later";
  }
  std::size_t most = limits_.max_connections_per_address;
  if (most == 0 && !peer.shown.is_local)
    most = std::max<std::size_t>(1, limits_.max_connections / 2);
  if (most == 0 || peer.group.empty()) return {};
  const auto at = per_group_.find(peer.group);
  if (at == per_group_.end() || at->second < most) return {};
  return "your address has " + counted(most, "connection") +
         ", which is the most; close some of them";
}

std::shared_ptr<Connection> ConnectionSet::take_oldest_reserved() {
  if (reserved_.size() < kReserved) return nullptr;
  auto oldest = reserved_.begin()->second.lock();
  reserved_.erase(reserved_.begin());
  return oldest;
}

std::optional<ConnectionSet::Admission> ConnectionSet::admit(const PeerAddress& peer) {
  std::shared_ptr<Connection> replaced;  // released after the lock: its end calls remove()
  const std::lock_guard lock(mutex_);
  Admission admission{next_id_, reason_to_turn_away(peer)};
  const bool reserved = !admission.turned_away.empty();
  if (reserved) {
    replaced = take_oldest_reserved();
    if (replaced) replaced->abort();
    // Connections that were told to close are still open for a moment, and count.
    if (entries_.size() - num_admitted_ >= 2 * kReserved) return std::nullopt;
  }
  ++next_id_;
  entries_[admission.id] = {{}, reserved ? std::string() : peer.group, reserved};
  if (reserved) {
    reserved_[admission.id];
  } else {
    ++num_admitted_;
    if (!peer.group.empty()) ++per_group_[peer.group];
  }
  return admission;
}

void ConnectionSet::add(std::uint64_t id, const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  if (draining_) connection->drain();
  if (aborting_) connection->abort();
  Entry& entry = entries_.at(id);
  entry.connection = connection;
  if (!entry.reserved) return;
  if (const auto at = reserved_.find(id); at != reserved_.end()) {
    at->second = connection;
  } else {
    connection->abort();  // another connection took its place before it was added
  }
}

void ConnectionSet::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  if (at->second.reserved) {
    reserved_.erase(id);
  } else {
    --num_admitted_;
    const auto group = per_group_.find(at->second.group);
    if (group != per_group_.end() && --group->second == 0) per_group_.erase(group);
  }
  entries_.erase(at);
  if (entries_.empty()) empty_.notify_all();
}

std::vector<std::shared_ptr<Connection>> ConnectionSet::live() const {
  std::vector<std::shared_ptr<Connection>> result;
  for (const auto& [id, entry] : entries_) {
    if (auto connection = entry.connection.lock()) result.push_back(std::move(connection));
  }
  return result;
}

// The connections are released after the lock: the last owner of one calls remove().
std::vector<std::shared_ptr<Connection>> ConnectionSet::begin_to_drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  return live();
}

void ConnectionSet::drain() {
  for (const auto& connection : begin_to_drain()) connection->drain();
}

void ConnectionSet::end_exchanges() {
  for (const auto& connection : begin_to_drain()) connection->end_exchange();
}

void ConnectionSet::abort() {
  std::vector<std::shared_ptr<Connection>> connections;
  {
    const std::lock_guard lock(mutex_);
    draining_ = aborting_ = true;
    connections = live();
  }
  for (const auto& connection : connections) connection->abort();
}

bool ConnectionSet::wait_until_empty(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, deadline.remaining(), [&] { return entries_.empty(); });
}

}  // namespace tandem::server::http
