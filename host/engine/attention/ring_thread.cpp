// SPDX-License-Identifier: Apache-2.0
//
// The gate between the caller and the thread, and the polling of lanes.
#include "engine/attention/ring_thread.h"

#include <chrono>

#include "common/polling.h"

namespace tandem::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the pause between two steps of decoding.
constexpr auto kBetweenSteps = std::chrono::microseconds(50);

std::atomic_ref<std::uint64_t> word(std::uint64_t& value) { return std::atomic_ref(value); }

// The thread that this one waits for may need this processor.
void look_away() {
  relax();
  std::this_thread::yield();
}

}  // namespace

RingThread::RingThread(std::span<device::RingWords> lanes, Serve serve)
    : lanes_(lanes), serve_(std::move(serve)), seen_(lanes.size()), thread_([this] { run(); }) {}

RingThread::~RingThread() {
  close();
  abandon();
  gate_.store(kStopping, std::memory_order_release);
  gate_.notify_one();
  thread_.join();
}

void RingThread::open() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    seen_[lane].store(word(lanes_[lane].posted).load(std::memory_order_acquire),
                      std::memory_order_relaxed);
  }
  const std::uint64_t closed = gate_.load(std::memory_order_relaxed);
  gate_.store(closed - closed % kStates + kStates + kOpen, std::memory_order_release);
  gate_.notify_one();
}

void RingThread::close() {
  WaitPace pace;
  ShortSleeps sleeps;
  const auto start = Clock::now();
  for (;;) {
    std::uint64_t gate = gate_.load(std::memory_order_acquire);
    if (gate % kStates == kClosed) return;
    const std::uint64_t closed = gate - gate % kStates + kClosed;
    if (gate % kStates == kOpen &&
        gate_.compare_exchange_strong(gate, closed, std::memory_order_acq_rel)) {
      return;
    }
    const WaitPace::Duration pause = pace.pause(Clock::now() - start);
    if (pause > WaitPace::Duration::zero()) {
      sleeps.sleep(pause);
    } else {
      look_away();
    }
  }
}

void RingThread::clear() {
  for (device::RingWords& lane : lanes_) {
    word(lane.posted).store(0, std::memory_order_relaxed);
    word(lane.answered).store(0, std::memory_order_relaxed);
    word(lane.abandoned).store(0, std::memory_order_relaxed);
  }
}

void RingThread::abandon() {
  for (device::RingWords& lane : lanes_) word(lane.abandoned).store(1, std::memory_order_release);
}

void RingThread::run() {
  ShortSleeps sleeps;
  idle_since_ = Clock::now();
  for (;;) {
    const std::uint64_t gate = gate_.load(std::memory_order_acquire);
    if (gate % kStates == kStopping) return;
    if (gate % kStates == kClosed) {
      wait_for_opening(gate);
      idle_since_ = Clock::now();
      continue;
    }
    if (serve_posted(gate)) continue;
    const WaitPace::Duration pause = pace_.pause(Clock::now() - idle_since_);
    if (pause > WaitPace::Duration::zero()) {
      sleeps.sleep(pause);
    } else {
      look_away();
    }
  }
}

void RingThread::wait_for_opening(std::uint64_t gate) {
  const auto end = Clock::now() + kBetweenSteps;
  while (Clock::now() < end) {
    if (gate_.load(std::memory_order_acquire) != gate) return;
    look_away();
  }
  gate_.wait(gate, std::memory_order_acquire);
}

bool RingThread::serve_posted(std::uint64_t gate) {
  bool any = false;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::uint64_t posted = word(lanes_[lane].posted).load(std::memory_order_acquire);
    if (posted == seen_[lane].load(std::memory_order_relaxed)) continue;
    std::uint64_t open = gate;
    const std::uint64_t serving = gate - kOpen + kServing;
    if (!gate_.compare_exchange_strong(open, serving, std::memory_order_acq_rel)) return any;
    pace_.ended(Clock::now() - idle_since_);
    const bool answers = serve_(lane, static_cast<std::uint32_t>(posted));
    seen_[lane].store(posted, std::memory_order_relaxed);
    if (answers) {
      word(lanes_[lane].answered).store(posted, std::memory_order_release);
    } else {
      abandon();
    }
    gate_.store(gate, std::memory_order_release);
    idle_since_ = Clock::now();
    any = true;
  }
  return any;
}

}  // namespace tandem::engine
