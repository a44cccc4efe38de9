// SPDX-License-Identifier: Apache-2.0
//
// RingThread: the host's side of rings (device/compute_ops.h): a thread that sees what a compute
// unit has posted, has it served, and answers.
//
// A lane is one ring. Between open() and close() whatever appears in a lane is served, one post at
// a time, in no order between lanes. close() returns when nothing is being served and nothing will
// be before open(), so that what serve() uses is the caller's again; what was posted meanwhile or
// in a step that ended early is never served. The thread looks without a pause for some 100 us and
// around the time that the last post took to come, then with naps of 5 to 200 us (wait_pace.h);
// closed, it looks for some 50 us and then sleeps until open(). So a post is seen after some 100
// ns, or after a nap where the compute unit took longer than before. Threads: one caller, and the
// ring's own. Ownership: borrows the lanes.
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
  // In the thread; throws nothing. False: there is no answer, and the ring is abandoned, since
  // somebody may still use what was posted.
  using Serve = std::function<bool(std::size_t lane, std::uint32_t tag)>;

  // lanes: zero.
  RingThread(std::span<device::RingWords> lanes, Serve serve);
  // Closes, and gives up what is posted.
  ~RingThread();
  RingThread(const RingThread&) = delete;
  RingThread& operator=(const RingThread&) = delete;

  void open();
  // Has no deadline of its own: waits for the serve() that runs, if one does. The caller sees to it
  // that those end: an AttentionRing's is as long as its unit's submit() and, per share, one wait()
  // with device_timeout, which by their contract do not block past that.
  void close();
  // While closed: the words are zero again.
  void clear();

  // The compute unit waits for no answer any more, before clear().
  void abandon();

 private:
  // The lowest bits of the gate; above them the number of the opening, so that a post that was seen
  // before one is not served behind it.
  enum State : std::uint64_t { kClosed, kOpen, kServing, kStopping };
  static constexpr std::uint64_t kStates = 4;

  void run();
  void wait_for_opening(std::uint64_t gate);
  bool serve_posted(std::uint64_t gate);

  const std::span<device::RingWords> lanes_;
  const Serve serve_;
  std::vector<std::atomic<std::uint64_t>> seen_;  // [lanes]
  std::atomic<std::uint64_t> gate_{kClosed};
  WaitPace pace_;  // the thread's, as what follows
  std::chrono::steady_clock::time_point idle_since_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tandem::engine
