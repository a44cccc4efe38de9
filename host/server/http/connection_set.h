// SPDX-License-Identifier: Apache-2.0
//
// ConnectionSet: all connections of a server, and the limits on their number.
//
// A connection beyond the limits takes one of a few reserved places, on which only probes are
// answered. If all of these are taken, the oldest is closed, so clients that connect and then wait
// cannot block a probe. Each connection keeps the set alive, so the last one may outlive the
// listener. Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "server/http/connection.h"
#include "server/http/limits.h"
#include "server/http/peer_address.h"

namespace tandem::server::http {

class ConnectionSet {
 public:
  // The maximum number of connections on reserved places.
  static constexpr std::size_t kReserved = 64;

  explicit ConnectionSet(const Limits& limits) : limits_(limits) {}

  struct Admission {
    std::uint64_t id = 0;
    std::string turned_away;  // the reason; empty: admitted
  };

  // Admits a connection. It counts from admit() to remove(); from add() on it can be drained and
  // aborted. Empty if even the reserved connections are all closing.
  std::optional<Admission> admit(const PeerAddress& peer);
  void add(std::uint64_t id, const std::shared_ptr<Connection>& connection);
  void remove(std::uint64_t id);

  void drain();
  void end_exchanges();
  void abort();
  bool wait_until_empty(Deadline deadline);  // false when the deadline passed first

 private:
  struct Entry {
    std::weak_ptr<Connection> connection;
    std::string group;
    bool reserved = false;
  };

  std::string reason_to_turn_away(const PeerAddress& peer) const;
  std::shared_ptr<Connection> take_oldest_reserved();
  std::vector<std::shared_ptr<Connection>> live() const;
  std::vector<std::shared_ptr<Connection>> begin_to_drain();

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::map<std::uint64_t, Entry> entries_;
  std::map<std::uint64_t, std::weak_ptr<Connection>>
      reserved_;                                  // oldest first; without closing ones
  std::map<std::string, std::size_t> per_group_;  // of admitted ones
  std::size_t num_admitted_ = 0;
  std::uint64_t next_id_ = 1;
  bool draining_ = false, aborting_ = false;
};

}  // namespace tandem::server::http
