// SPDX-License-Identifier: Apache-2.0
//
// RingThread: the host's thread of rings (device/compute_ops.h). It waits for posts of a compute
// unit, serves them, and answers.
//
// A lane is one ring. Between open() and close() the thread serves the posts of all lanes, one at a
// time, in no fixed order of lanes. A post that arrives while closed, or in a step that ended
// early, is never served. The thread polls without a pause for some 100 us and around the time that
// the last post took to arrive, then with sleeps of 5 to 200 us (wait_pace.h). After close() it
// polls for some 50 us, then sleeps until open(). Threads: one caller, and its own. Ownership:
// borrows the lanes. Cost: it sees a post after some 100 ns, or after a sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "common/wait_pace.h"
#include "device/compute_ops.h"

namespace tandem::engine {

class RingThread {
 public:
  // Called in the thread; must not throw. False: there is no answer, and the ring is abandoned,
  // because the unit may still use what was posted.
  using Serve = std::function<bool(std::size_t lane, std::uint32_t tag)>;

  // lanes: all words zero.
  RingThread(std::span<device::RingWords> lanes, Serve serve);
  // Closes the ring and abandons posts without an answer.
  ~RingThread();
  RingThread(const RingThread&) = delete;
  RingThread& operator=(const RingThread&) = delete;

  void open();
  // Waits for the running serve(), if any, without a deadline: the caller makes sure that it ends.
  // Afterwards nothing is served before open(), and the caller may use the memory of serve() again.
  // serve() of an AttentionRing takes its unit's submit() and, per share, one wait() with
  // device_timeout, which by contract do not block longer.
  void close();
  // Sets the words to zero again. Only while closed.
  void clear();

  // From now on the compute unit waits for no answer, until clear().
  void abandon();

 private:
  // The lowest bits of the gate. Above them is the number of the opening: a post that was seen
  // before an opening is not served after it.
  enum State : std::uint64_t { kClosed, kOpen, kServing, kStopping };
  static constexpr std::uint64_t kStates = 4;

  void run();
  void wait_for_opening(std::uint64_t gate);
  bool serve_posted(std::uint64_t gate);

  const std::span<device::RingWords> lanes_;
  const Serve serve_;
  std::vector<std::atomic<std::uint64_t>> seen_;  // [lanes]
  std::atomic<std::uint64_t> gate_{kClosed};
  WaitPace pace_;  // used by the thread only, like the members after it
  std::chrono::steady_clock::time_point idle_since_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tandem::engine
