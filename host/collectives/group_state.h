// SPDX-License-Identifier: Apache-2.0
//
// Group::State: the queue of a group's calls, the failure that broke it, and the state between
// calls.
//
// Every call takes a ticket when the user makes it; tickets are served one by one. A ticket is also
// the call's number in messages, so all ranks use the same numbers. A call that fails, other than
// by an AgreedError, aborts the transport with its reason and breaks the group. Asynchronous calls
// are run by one thread, started with the first of them. Threads: take_ticket, run, post,
// break_group, report and traffic from any; Buckets inside run().
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "collectives/aggregator/aggregator.h"
#include "collectives/agreement.h"
#include "collectives/collective.h"
#include "collectives/scheme/scheme.h"
#include "collectives/selection/selector.h"

namespace tandem::collectives {

// State per bucket, tensor shape and type; it changes identically on all ranks.
struct Bucket {
  SchemeMemory memory;
  Selector selector;
};

// One call in flight.
struct Call {
  Group::State& group;
  Communicator& ranks;
  Report& report;  // the body fills its scheme, modelled time and explanation
};

class Group::State {
 public:
  explicit State(std::unique_ptr<Transport> transport);
  ~State();  // aborts calls in flight

  Transport& transport() { return *transport_; }
  const Transport& transport() const { return *transport_; }

  std::uint64_t take_ticket();

  // Runs `body` as the call `function` when `ticket`'s turn comes; fills the report. An AgreedError
  // passes through; anything else breaks the group, and errors other than TransportError and
  // std::bad_alloc turn into a TransportError (kLocal).
  void run(const char* function, std::uint64_t ticket, Deadline deadline,
           const std::function<void(Call&)>& body);

  // Takes a ticket and runs job(ticket) on the group's thread, in the order of tickets.
  void post(std::function<void(std::uint64_t)> job);

  // Breaks the group. Works even if there is no memory for the reason.
  void break_group(const std::string& reason) noexcept;
  // Waits until the last call of a broken group has left the transport. TransportError at the
  // deadline.
  void wait_until_idle(Deadline deadline);
  bool broken() const;
  Report report() const;

  // Within run() only. find_bucket() returns the bucket's memory or null; keep_bucket() stores
  // `fresh` if there is none. Above kMaxBuckets the oldest bucket is removed. Buckets are made
  // after headers were agreed on, so all ranks remove the same one.
  static constexpr std::size_t kMaxBuckets = 4096;
  Bucket* find_bucket(const std::string& key);
  Bucket& keep_bucket(const std::string& key, Bucket&& fresh = Bucket());
  std::size_t num_buckets() const { return buckets_.size(); }
  // Within run() only: the default aggregator, if the user names none.
  Aggregator& cpu_aggregator() { return *cpu_aggregator_; }
  // Within run() only: links and processors, measured by the first call that needs them. nodes:
  // [world]
  const MachineModel& machine(Communicator& ranks, std::span<const std::uint64_t> nodes);

 private:
  void wait_for_turn(const char* function, std::uint64_t ticket, Deadline deadline);
  void end_turn();
  void measure(const std::function<void(Call&)>& body, Call& call);
  void serve_jobs();
  template <typename MakeText>
  void break_group_saying(const MakeText& text) noexcept;

  std::unique_ptr<Transport> transport_;
  std::map<std::string, Bucket> buckets_;
  std::deque<std::string> bucket_ages_;  // keys, oldest first
  std::optional<MachineModel> machine_;
  std::unique_ptr<Aggregator> cpu_aggregator_ = make_cpu_aggregator();

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a turn ended, the group broke, a job came, or it stops
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
  bool running_ = false;  // a call uses the transport
  bool broken_ = false;
  std::string reason_;
  Report report_;
  std::deque<std::pair<std::function<void(std::uint64_t)>, std::uint64_t>> jobs_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace tandem::collectives
