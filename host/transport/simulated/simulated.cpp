// SPDX-License-Identifier: Apache-2.0
//
// The last rank that waits advances the network, under the world's lock, and wakes the ranks whose
// messages have arrived.
#include "transport/simulated/simulated.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

namespace tandem::transport::simulated {
namespace {

std::uint64_t key_of(int peer, Tag tag) { return static_cast<std::uint64_t>(peer) << 32 | tag; }

struct Later {
  bool operator()(const Flight& a, const Flight& b) const {
    return a.arrival != b.arrival ? a.arrival > b.arrival : a.from > b.from;
  }
};

// What an exchange still expects, and what has arrived for it.
struct Expected {
  std::vector<Source> sources;  // all of them, taken or not
  std::size_t num_open = 0;     // not yet taken
  std::priority_queue<Flight, std::vector<Flight>, Later> arrived;
};

class World {
 public:
  explicit World(const NetworkOptions& options)
      : network_(options), ranks_(static_cast<std::size_t>(options.world)) {
    num_running_ = ranks_.size();
    for (auto& rank : ranks_) rank = std::make_unique<Rank>();
  }

  int size() const { return static_cast<int>(ranks_.size()); }
  int node_of(int rank) const { return network_.node_of(rank); }

  double clock(int rank) {
    const std::lock_guard lock(mutex_);
    return at(rank).clock;
  }
  void set_clock(int rank, double least) {
    const std::lock_guard lock(mutex_);
    at(rank).clock = std::max(at(rank).clock, least);
  }

  void set_scope(int rank, FailureScope scope) {
    const std::lock_guard lock(mutex_);
    at(rank).scope = scope;
  }

  // Returns when the last of the messages has left.
  double start(int rank, std::vector<Outgoing> sends, Expected& expected);
  Flight take(int rank, Expected& expected, Deadline deadline);
  void forget(int rank, Expected& expected);
  void close(int by, int peer, const std::string& reason) noexcept;
  void abort(int by, const std::string& reason) noexcept;
  void leave(int rank);

 private:
  struct End {
    int by = -1;
    std::string reason;
  };
  struct Rank {
    std::condition_variable woken;
    double clock = 0;
    bool left = false;
    bool blamed = false;   // had left when the others stalled
    bool stalled = false;  // its last wait ended because nothing was under way
    FailureScope scope = FailureScope::kConnection;
    bool aborted = false;            // by itself
    std::optional<End> first_abort;  // of any rank
    std::map<int, End> closed;       // by peer
    Expected* waits_for = nullptr;
    std::unordered_map<std::uint64_t, Expected*> expected;
    std::unordered_map<std::uint64_t, Flight> unexpected;
  };

  Rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  static End end_of(int by, const std::string& reason) {
    try {
      return {by, reason};
    } catch (const std::bad_alloc&) {
      return {by, "out of memory"};  // short enough to need none
    }
  }
  bool awaits_lost_rank(const Rank& rank) const;
  static void throw_end(const End& end);
  static void throw_if_aborted(const Rank& rank);
  static void throw_if_closed(const Rank& rank, int peer);
  static void throw_if_ended(const Rank& rank, const Expected& expected);
  void end_connection(Rank& rank, int peer, const End& end) noexcept;
  void move_on();
  bool deliver(Flight flight);
  void wake(Rank& rank);
  void fail_stalled();

  std::mutex mutex_;
  Network network_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::size_t num_running_ = 0;  // ranks that neither wait nor have left
};

void World::throw_end(const End& end) {
  throw TransportError(TransportError::Kind::kAborted, end.by,
                       "rank " + std::to_string(end.by) + " aborted: " + end.reason);
}

void World::throw_if_aborted(const Rank& rank) {
  const bool counts = rank.aborted || rank.scope == FailureScope::kGroup;
  if (counts && rank.first_abort) throw_end(*rank.first_abort);
}

void World::throw_if_closed(const Rank& rank, int peer) {
  const auto found = rank.closed.find(peer);
  if (found != rank.closed.end()) throw_end(found->second);
}

void World::throw_if_ended(const Rank& rank, const Expected& expected) {
  throw_if_aborted(rank);
  if (rank.closed.empty()) return;
  for (const Source& source : expected.sources) {
    if (rank.expected.count(key_of(source.peer, source.tag)) > 0) {
      throw_if_closed(rank, source.peer);
    }
  }
}

double World::start(int rank, std::vector<Outgoing> sends, Expected& expected) {
  const std::lock_guard lock(mutex_);
  Rank& own = at(rank);
  throw_if_aborted(own);
  if (!own.closed.empty()) {
    for (const Source& source : expected.sources) throw_if_closed(own, source.peer);
    for (const Outgoing& send : sends) throw_if_closed(own, send.peer);
  }
  for (const Source& source : expected.sources) {
    const std::uint64_t key = key_of(source.peer, source.tag);
    if (const auto early = own.unexpected.find(key); early != own.unexpected.end()) {
      expected.arrived.push(std::move(early->second));
      own.unexpected.erase(early);
    } else {
      own.expected[key] = &expected;
    }
  }
  double left = own.clock;
  for (Outgoing& send : sends) left = network_.send(own.clock, rank, std::move(send));
  return left;
}

Flight World::take(int rank, Expected& expected, Deadline deadline) {
  std::unique_lock lock(mutex_);
  Rank& own = at(rank);
  throw_if_ended(own, expected);
  if (expected.arrived.empty()) {
    own.stalled = false;
    own.waits_for = &expected;
    if (--num_running_ == 0) move_on();
    while (own.waits_for != nullptr) {
      if (deadline.is_never()) {
        own.woken.wait(lock);
      } else if (own.woken.wait_until(lock, deadline.time_point()) == std::cv_status::timeout) {
        break;
      }
    }
    if (own.waits_for != nullptr) {  // the deadline
      own.waits_for = nullptr;
      ++num_running_;
    }
    throw_if_ended(own, expected);
  }
  if (expected.arrived.empty()) {
    int awaited = -1;
    for (const Source& source : expected.sources) {
      if (own.expected.count(key_of(source.peer, source.tag)) == 0) continue;
      if (awaited < 0) awaited = source.peer;
      if (!(own.stalled ? at(source.peer).blamed : at(source.peer).left)) continue;
      throw TransportError(TransportError::Kind::kPeerLost, source.peer,
                           "rank " + std::to_string(source.peer) + " has left the group");
    }
    throw TransportError(TransportError::Kind::kTimeout, awaited,
                         "no message from rank " + std::to_string(awaited) + " by the deadline");
  }
  Flight flight = std::move(const_cast<Flight&>(expected.arrived.top()));
  expected.arrived.pop();
  own.clock = std::max(own.clock, flight.arrival);
  return flight;
}

void World::forget(int rank, Expected& expected) {
  const std::lock_guard lock(mutex_);
  Rank& own = at(rank);
  for (const Source& source : expected.sources) {
    const auto found = own.expected.find(key_of(source.peer, source.tag));
    if (found != own.expected.end() && found->second == &expected) own.expected.erase(found);
  }
}

void World::wake(Rank& rank) {
  rank.waits_for = nullptr;
  ++num_running_;
  rank.woken.notify_one();
}

// True if the receiver waits for it.
bool World::deliver(Flight flight) {
  Rank& receiver = at(flight.to);
  const auto expected = receiver.expected.find(key_of(flight.from, flight.tag));
  if (expected == receiver.expected.end()) {
    if (!receiver.left) {
      const std::uint64_t key = key_of(flight.from, flight.tag);
      receiver.unexpected[key] = std::move(flight);
    }
    return false;
  }
  Expected* exchange = expected->second;
  receiver.expected.erase(expected);
  exchange->arrived.push(std::move(flight));
  return receiver.waits_for == exchange;
}

// Every rank waits. The first that is woken, at time t, cannot disturb anything before t + the
// least latency, so all arrivals until then may be delivered at once.
void World::move_on() {
  double horizon = std::numeric_limits<double>::infinity();
  bool any = false;
  while (auto flight = network_.next_arrival(horizon)) {
    const double arrival = flight->arrival;
    const int to = flight->to;
    if (!deliver(std::move(*flight))) continue;
    if (!any) horizon = arrival + network_.lookahead();
    any = true;
    wake(at(to));
  }
  if (!any) fail_stalled();
}

bool World::awaits_lost_rank(const Rank& rank) const {
  return std::ranges::any_of(rank.waits_for->sources, [&](const Source& source) {
    return rank.expected.count(key_of(source.peer, source.tag)) > 0 &&
           ranks_[static_cast<std::size_t>(source.peer)]->left;
  });
}

// No message is in flight. Ranks that wait for a rank that has left fail, and may free the others.
// If there are none, all fail. Ranks that leave later do so because of this.
void World::fail_stalled() {
  std::vector<Rank*> waiting, blocked;
  for (auto& rank : ranks_) {
    rank->blamed = rank->left;
    if (rank->waits_for == nullptr) continue;
    waiting.push_back(rank.get());
    if (awaits_lost_rank(*rank)) blocked.push_back(rank.get());
  }
  for (Rank* rank : blocked.empty() ? waiting : blocked) {
    rank->stalled = true;
    wake(*rank);
  }
}

// Wakes the rank where that ends its wait.
void World::end_connection(Rank& rank, int peer, const End& end) noexcept {
  try {
    rank.closed.emplace(peer, end);
  } catch (const std::bad_alloc&) {
    // The wait ends at its deadline.
  }
  if (rank.waits_for == nullptr) return;
  const bool awaited = std::ranges::any_of(rank.waits_for->sources, [&](const Source& source) {
    return source.peer == peer && rank.expected.count(key_of(peer, source.tag)) > 0;
  });
  if (awaited || rank.aborted || rank.scope == FailureScope::kGroup) wake(rank);
}

void World::close(int by, int peer, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  const End end = end_of(by, reason);
  end_connection(at(by), peer, end);
  end_connection(at(peer), by, end);
}

void World::abort(int by, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  const End end = end_of(by, reason);
  Rank& own = at(by);
  if (own.aborted) return;
  own.aborted = true;
  for (auto& rank : ranks_) {
    if (!rank->first_abort) rank->first_abort = end;
  }
  if (own.waits_for != nullptr) wake(own);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != by) end_connection(at(peer), by, end);
  }
}

void World::leave(int rank) {
  const std::lock_guard lock(mutex_);
  Rank& own = at(rank);
  own.left = true;
  own.unexpected.clear();
  if (--num_running_ > 0) return;
  for (const auto& other : ranks_) {
    if (other->waits_for != nullptr) return move_on();
  }
}

class SimulatedExchange final : public Exchange {
 public:
  SimulatedExchange(Traffic& traffic, World& world, int rank, std::vector<Outgoing> sends,
                    std::vector<Source> sources)
      : Exchange(traffic), world_(world), rank_(rank) {
    expected_.num_open = sources.size();
    expected_.sources = std::move(sources);
    left_at_ = world_.start(rank, std::move(sends), expected_);
  }
  ~SimulatedExchange() override { world_.forget(rank_, expected_); }

  void finish(Deadline) override { world_.set_clock(rank_, left_at_); }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    if (expected_.num_open == 0) return std::nullopt;
    Flight flight = world_.take(rank_, expected_, deadline);
    --expected_.num_open;
    return Incoming{flight.from, std::move(flight.payload)};
  }

  World& world_;
  int rank_;
  Expected expected_;
  double left_at_ = 0;
};

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(std::shared_ptr<World> world, int rank)
      : Transport(rank, world->size()), world_(std::move(world)) {}
  ~SimulatedTransport() override { world_->leave(rank()); }

  std::string_view kind() const override { return "simulated"; }
  std::string node_name() const override {
    return "simulated node " + std::to_string(world_->node_of(rank()));
  }
  bool fails_alone() const override { return true; }
  void set_failure_scope(FailureScope scope) override { world_->set_scope(rank(), scope); }
  void close(int peer, const std::string& reason) noexcept override {
    world_->close(rank(), peer, reason);
  }
  void abort(const std::string& reason) noexcept override { world_->abort(rank(), reason); }
  std::unique_ptr<Transport> shrink(Deadline) override {
    throw Error("transport", "a simulated group cannot shrink; make a smaller one");
  }
  double clock() const { return world_->clock(rank()); }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override {
    return std::make_unique<SimulatedExchange>(counters(), *world_, rank(), std::move(sends),
                                               std::move(sources));
  }

  std::shared_ptr<World> world_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_world(const NetworkOptions& options) {
  validate(options);
  const auto shared = std::make_shared<World>(options);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < options.world; ++rank) {
    transports.push_back(std::make_unique<SimulatedTransport>(shared, rank));
  }
  return transports;
}

double now(const Transport& transport) {
  const auto* simulated = dynamic_cast<const SimulatedTransport*>(&transport);
  if (simulated == nullptr) {
    throw Error("transport", "only the simulated transport has a virtual clock");
  }
  return simulated->clock();
}

}  // namespace tandem::transport::simulated
