// SPDX-License-Identifier: Apache-2.0
//
// UnitGroup: the compute units of a composite one: their queues, tickets and losses, and the host
// memory that they share.
//
// A host buffer is one memory that all units read and write: pinned memory that all GPUs of a
// process see, or plain memory on CPUs. Attention units and the host use it as they use that of a
// single unit. SharedMemory orders the uses by the units. Failure: a lost unit loses the group;
// every later call throws DeviceError naming the unit. Threads: one submitter; stats() from any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "device/compute_unit.h"
#include "device/peer_copy.h"
#include "parallel/range_map.h"

namespace tandem::device::parallel {

using UnitMask = std::uint32_t;
constexpr int kMaxUnits = 16;
inline UnitMask mask_of(int unit) { return UnitMask{1} << unit; }

class UnitGroup {
 public:
  // peers: null for copies through host memory. Throws Error unless there are 1 to kMaxUnits.
  UnitGroup(std::vector<std::unique_ptr<ComputeUnit>> units, std::unique_ptr<PeerCopy> peers);

  int size() const { return static_cast<int>(units_.size()); }
  UnitMask all() const { return (UnitMask{1} << units_.size()) - 1; }
  ComputeUnit& unit(int index) { return *units_[static_cast<std::size_t>(index)]; }
  const std::vector<ComputeUnit*>& units() const { return borrowed_; }
  PeerCopy& peers() { return *peers_; }

  // Runs call(unit). A DeviceError in it loses the group.
  template <typename Call>
  void on(int index, const Call& call) {
    guard(index, [&] { call(unit(index)); });
  }
  void enqueue(int index, const Op& op) {
    ++enqueued_;
    on(index, [&](ComputeUnit& unit) { unit.enqueue(op); });
  }
  // Does the same as on(), for calls that use several units: peer copies and sums.
  template <typename Call>
  void together(const Call& call) {
    ++enqueued_;
    guard(-1, call);
  }

  Ticket record();
  WaitResult wait(Ticket ticket, Deadline deadline);
  ComputeStats stats() const;

  // How many calls were enqueued, and how many of them are known to be done after a wait().
  std::uint64_t enqueued() const { return enqueued_; }
  std::uint64_t done() const { return done_; }

 private:
  struct Recorded {
    Ticket ticket = 0;
    std::uint64_t enqueued = 0;
    std::vector<Ticket> tickets;  // [units]
  };

  // index: the unit that is lost if the call fails; -1: unknown.
  template <typename Call>
  void guard(int index, const Call& call) {
    require_alive();
    try {
      call();
    } catch (const DeviceError& error) {
      lose(index, error.what());
    }
  }
  void require_alive() const;
  bool is_done(int index, Ticket ticket, Deadline deadline);  // the answer after a short wait
  [[noreturn]] void lose(int index, const std::string& reason);

  std::vector<std::unique_ptr<ComputeUnit>> units_;
  std::vector<ComputeUnit*> borrowed_;
  std::unique_ptr<PeerCopy> peers_;
  std::deque<Recorded> recorded_;  // calls of record() that no wait() has finished
  Ticket last_ticket_ = 0;
  std::uint64_t enqueued_ = 0, done_ = 0;
  std::string lost_;  // the reason; empty: no unit is lost
};

// Which units have used which bytes of shared host memory since the last wait.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size_bytes) : uses_(size_bytes, Uses{}), size_(size_bytes) {}

  void read(UnitGroup& group, int unit, std::size_t begin, std::size_t end);
  void write(UnitGroup& group, int unit, std::size_t begin, std::size_t end);
  // Forgets uses that a wait() has finished.
  void clear_finished(const UnitGroup& group);

 private:
  struct Uses {
    UnitMask readers = 0, writers = 0;
    bool operator==(const Uses&) const = default;
  };
  void order(UnitGroup& group, UnitMask earlier, int later);

  RangeMap<Uses> uses_;
  std::size_t size_;
};

// Finds the buffers of a composite unit by their address(), for attention units, which get
// addresses. `owner`: the composite unit; null after its destruction.
class AddressBook {
 public:
  ComputeUnit* owner = nullptr;

  void add(Buffer& buffer) { buffers_[buffer.address()] = &buffer; }
  void remove(Buffer& buffer) { buffers_.erase(buffer.address()); }
  // Returns the slice at this address; an empty one if `at` is in no buffer.
  Slice find(const void* at) const;

 private:
  std::map<const std::byte*, Buffer*> buffers_;
};

}  // namespace tandem::device::parallel
