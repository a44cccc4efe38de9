// SPDX-License-Identifier: Apache-2.0
//
// Mesh: a TCP connection to every peer through gloo's tcp transport. It tells what completed and
// which connection closed.
//
// gloo waits for one buffer at a time, and makes all connections unusable when such a wait times
// out. A thread that waits for a buffer of a dying connection may wait forever. So this code never
// waits in gloo: it extends gloo's classes, as gloo's TLS transport does (Activity). Data moves on
// gloo's own thread. Ownership: a region is memory of the caller that peers may read or write; its
// destruction ends all access. Regions go before the mesh. Threads: regions and sends from the
// rank's thread, farewell() and interrupt() from any. Errors: gloo's exceptions for use of a closed
// connection; TransportError where stated. Source: facebookincubator/gloo, May 2022.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/gloo/gloo.h"

namespace tandem::transport::gloo {

// A counter of completions and closed connections, on which a rank waits. Threads: any.
class Activity {
 public:
  std::uint64_t count() const;
  void bump();
  // Returns when the count is no longer `seen`, or false at the deadline.
  bool wait(std::uint64_t seen, Deadline deadline) const;

  // Call mark() while locks of gloo are held, and publish() after they are released.
  void mark() { marked_.store(true); }
  void publish() {
    if (marked_.exchange(false)) bump();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t count_ = 0;
  std::atomic<bool> marked_{false};
};

// Memory that is sent or received. Its completions can be queried.
class Region final : public ::gloo::transport::tcp::UnboundBuffer {
 public:
  using ::gloo::transport::tcp::UnboundBuffer::UnboundBuffer;
  int num_sent();
  int num_received();
};

// One connection.
class Link;

class Mesh {
 public:
  // Listens for every peer. Throws Error if the address of `options` is not this host's.
  Mesh(const Options& options, int rank, int world);
  ~Mesh();

  int rank() const { return rank_; }
  int world() const { return world_; }

  // The addresses that peers need to connect: one per peer, the own one empty.
  std::string addresses() const;
  // Connects to `peer`, whose addresses() are given, or waits for it to connect. watch: called
  // meanwhile; an exception ends the wait.
  void connect(int peer, const std::string& addresses, Deadline deadline,
               const std::function<void()>& watch);
  // Call it when all are connected: checks that every peer belongs to the same group and has the
  // expected rank.
  void greet(const std::string& group, Deadline deadline);

  std::unique_ptr<Region> make_region(const void* bytes, std::size_t size);

  // Call it before checking completions: all data that arrived before the end is then counted.
  bool closed(int peer) const { return closed_[static_cast<std::size_t>(peer)].load(); }
  int num_closed() const;
  // The reason that `peer` gave for breaking the group; empty if none.
  std::string farewell_of(int peer);

  // Sends the reason to the peer, as much as the connection accepts at once, and ends the
  // connection. A second call does nothing.
  void farewell(int peer, const std::string& reason) noexcept;
  // The same for a peer that violated the protocol: it gets no farewell.
  void interrupt(int peer) noexcept;
  // Closes every connection; returns when gloo's thread has released them.
  void close() noexcept;

  Activity& activity() { return activity_; }

 private:
  struct Control;  // greetings and farewells

  Link& link(int peer);
  void post_control(int peer, const std::string& greeting);
  void await_greeting(int peer, Deadline deadline);

  int rank_;
  int world_;
  Activity activity_;
  std::vector<std::atomic<bool>> closed_;  // [world]
  std::shared_ptr<::gloo::transport::tcp::Context> context_;
  std::unique_ptr<Control> control_;
};

}  // namespace tandem::transport::gloo
