// SPDX-License-Identifier: Apache-2.0
//
// Mailboxes under one lock per receiving rank; the state of its connections under the same lock, so
// that a waiting rank wakes for either.
#include "transport/inproc/inproc.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace tandem::transport::inproc {
namespace {

class World {
 public:
  explicit World(int num_ranks) : boxes_(static_cast<std::size_t>(num_ranks)) {
    for (auto& box : boxes_) {
      box = std::make_unique<Box>();
      box->peers.resize(static_cast<std::size_t>(num_ranks));
    }
    alive_.resize(static_cast<std::size_t>(num_ranks), true);
  }

  int size() const { return static_cast<int>(boxes_.size()); }

  void set_scope(int rank, FailureScope scope) {
    Box& box = box_of(rank);
    const std::lock_guard lock(box.mutex);
    box.scope = scope;
  }

  // Throws where the connection to one of them has been closed.
  void check_connections(int rank, std::span<const Outgoing> sends,
                         std::span<const Source> sources) {
    Box& box = box_of(rank);
    const std::lock_guard lock(box.mutex);
    throw_if_aborted(box);
    for (const Outgoing& send : sends) throw_if_closed(box, send.peer);
    for (const Source& source : sources) throw_if_closed(box, source.peer);
  }

  void post(int from, int to, Tag tag, Payload payload) {
    Box& box = box_of(to);
    {
      const std::lock_guard lock(box.mutex);
      box.messages[{from, tag}] = std::move(payload);
    }
    box.changed.notify_all();
  }

  // Any of `sources` whose message is there; removes it from both.
  Incoming take(int rank, std::vector<Source>& sources, Deadline deadline) {
    Box& box = box_of(rank);
    std::unique_lock lock(box.mutex);
    for (;;) {
      throw_if_aborted(box);
      for (const Source& source : sources) throw_if_closed(box, source.peer);
      for (std::size_t at = 0; at < sources.size(); ++at) {
        const auto found = box.messages.find({sources[at].peer, sources[at].tag});
        if (found == box.messages.end()) continue;
        Incoming message{sources[at].peer, std::move(found->second)};
        box.messages.erase(found);
        sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(at));
        return message;
      }
      for (const Source& source : sources) {
        if (box.peers[static_cast<std::size_t>(source.peer)].left) {
          throw TransportError(TransportError::Kind::kPeerLost, source.peer,
                               "rank " + std::to_string(source.peer) + " has left the group");
        }
      }
      wait(box, lock, deadline, sources.front().peer);
    }
  }

  void close(int by, int peer, const std::string& reason) noexcept {
    end_connection(box_of(by), peer, by, reason);
    end_connection(box_of(peer), by, by, reason);
  }

  void abort(int by, const std::string& reason) noexcept {
    for (int rank = 0; rank < size(); ++rank) {
      Box& box = box_of(rank);
      {
        const std::lock_guard lock(box.mutex);
        if (rank == by) box.ended = true;
        if (!box.first_abort.reason) box.first_abort = end_of(by, reason);
      }
      if (rank == by) {
        box.changed.notify_all();
      } else {
        end_connection(box, by, by, reason);
      }
    }
  }

  void leave(int rank) {
    for (auto& box : boxes_) {
      {
        const std::lock_guard lock(box->mutex);
        box->peers[static_cast<std::size_t>(rank)].left = true;
      }
      box->changed.notify_all();
    }
    const std::lock_guard lock(survivors_mutex_);
    alive_[static_cast<std::size_t>(rank)] = false;
    survivors_changed_.notify_all();
  }

  // Registers `rank` as a survivor, waits for the others, and returns the new world and the
  // caller's rank in it.
  std::pair<std::shared_ptr<World>, int> gather(int rank, Deadline deadline);

 private:
  struct End {
    int by = -1;
    std::optional<std::string> reason;  // nullopt: not ended
  };
  struct Peer {
    bool left = false;  // its transport is destroyed
    End closed;
  };
  struct Box {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, Tag>, Payload> messages;
    std::vector<Peer> peers;  // [world]
    FailureScope scope = FailureScope::kConnection;
    End first_abort;     // of any rank
    bool ended = false;  // this rank has aborted
  };

  Box& box_of(int rank) { return *boxes_[static_cast<std::size_t>(rank)]; }

  static End end_of(int by, const std::string& reason) {
    try {
      return {by, reason};
    } catch (const std::bad_alloc&) {
      return {by, "out of memory"};  // short enough to need none
    }
  }

  static void end_connection(Box& box, int peer, int by, const std::string& reason) {
    {
      const std::lock_guard lock(box.mutex);
      End& closed = box.peers[static_cast<std::size_t>(peer)].closed;
      if (!closed.reason) closed = end_of(by, reason);
    }
    box.changed.notify_all();
  }

  static void throw_end(const End& end) {
    throw TransportError(TransportError::Kind::kAborted, end.by,
                         "rank " + std::to_string(end.by) + " aborted: " + *end.reason);
  }
  static void throw_if_aborted(const Box& box) {
    const bool counts = box.ended || box.scope == FailureScope::kGroup;
    if (counts && box.first_abort.reason) throw_end(box.first_abort);
  }
  static void throw_if_closed(const Box& box, int peer) {
    const End& closed = box.peers[static_cast<std::size_t>(peer)].closed;
    if (closed.reason) throw_end(closed);
  }

  static void wait(Box& box, std::unique_lock<std::mutex>& lock, Deadline deadline, int source) {
    if (deadline.is_never()) {
      box.changed.wait(lock);
    } else if (box.changed.wait_until(lock, deadline.time_point()) == std::cv_status::timeout) {
      throw TransportError(TransportError::Kind::kTimeout, source,
                           "no message from rank " + std::to_string(source) + " by the deadline");
    }
  }

  bool all_alive_joined() const;

  std::vector<std::unique_ptr<Box>> boxes_;
  std::mutex survivors_mutex_;
  std::condition_variable survivors_changed_;
  std::vector<bool> alive_;
  std::vector<int> joined_;
  std::shared_ptr<World> successor_;  // once made, membership is closed
};

bool World::all_alive_joined() const {
  for (int rank = 0; rank < size(); ++rank) {
    const bool alive = alive_[static_cast<std::size_t>(rank)];
    if (alive && !std::binary_search(joined_.begin(), joined_.end(), rank)) return false;
  }
  return true;
}

std::pair<std::shared_ptr<World>, int> World::gather(int rank, Deadline deadline) {
  std::unique_lock lock(survivors_mutex_);
  if (successor_) {
    throw TransportError(TransportError::Kind::kTimeout, rank,
                         "the smaller group was formed without rank " + std::to_string(rank));
  }
  joined_.insert(std::upper_bound(joined_.begin(), joined_.end(), rank), rank);
  survivors_changed_.notify_all();
  while (!successor_ && !all_alive_joined()) {
    if (deadline.is_never()) {
      survivors_changed_.wait(lock);
    } else if (survivors_changed_.wait_until(lock, deadline.time_point()) ==
               std::cv_status::timeout) {
      break;
    }
  }
  if (!successor_) {
    successor_ = std::make_shared<World>(static_cast<int>(joined_.size()));
    survivors_changed_.notify_all();
  }
  const auto place = std::lower_bound(joined_.begin(), joined_.end(), rank);
  return {successor_, static_cast<int>(place - joined_.begin())};
}

class InprocExchange final : public Exchange {
 public:
  InprocExchange(Traffic& traffic, World& world, int rank, std::vector<Source> sources)
      : Exchange(traffic), world_(world), rank_(rank), sources_(std::move(sources)) {}

  void finish(Deadline) override {}  // a posted message has left

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    if (sources_.empty()) return std::nullopt;
    return world_.take(rank_, sources_, deadline);
  }

  World& world_;
  int rank_;
  std::vector<Source> sources_;
};

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<World> world, int rank)
      : Transport(rank, world->size()), world_(std::move(world)) {}
  ~InprocTransport() override { world_->leave(rank()); }

  std::string_view kind() const override { return "inproc"; }
  std::string node_name() const override { return "this process"; }
  bool fails_alone() const override { return true; }
  void set_failure_scope(FailureScope scope) override { world_->set_scope(rank(), scope); }
  void close(int peer, const std::string& reason) noexcept override {
    world_->close(rank(), peer, reason);
  }
  void abort(const std::string& reason) noexcept override { world_->abort(rank(), reason); }

  std::unique_ptr<Transport> shrink(Deadline deadline) override {
    auto [successor, new_rank] = world_->gather(rank(), deadline);
    return std::make_unique<InprocTransport>(std::move(successor), new_rank);
  }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override {
    world_->check_connections(rank(), sends, sources);
    for (Outgoing& send : sends) world_->post(rank(), send.peer, send.tag, std::move(send.payload));
    return std::make_unique<InprocExchange>(counters(), *world_, rank(), std::move(sources));
  }

  std::shared_ptr<World> world_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_world(int world) {
  if (world < 1) throw Error("transport", "a world has at least one rank");
  const auto shared = std::make_shared<World>(world);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < world; ++rank) {
    transports.push_back(std::make_unique<InprocTransport>(shared, rank));
  }
  return transports;
}

}  // namespace tandem::transport::inproc
