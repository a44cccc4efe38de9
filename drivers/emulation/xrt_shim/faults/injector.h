// SPDX-License-Identifier: Apache-2.0
//
// FaultInjector: the fault script of this process: TANDEM_FAULTS, or one that a test begins
// (tandem_card_faults.h).
//
// It holds the lasting effects of faults per card: absent (until a time), hung, a slow link, less
// memory, bytes with an ECC error. Each injected fault is a line of injected() and of
// TANDEM_FAULTS_LOG; these lines form a script that repeats the same faults. A forked child starts
// with new counts. Without a script active() is false, and nothing else is called. Threads: any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulation/faults/fault_plan.h"

namespace tandem::emulation {

class FaultInjector {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kMostCards = 16;

  static FaultInjector& instance();

  bool active() const { return active_.load(std::memory_order_relaxed); }
  // The error in TANDEM_FAULTS; empty: none.
  const std::string& problem() const { return problem_; }
  // Counts start at 0, and earlier faults end.
  void begin(FaultScript script);
  // No timed fault of the script happens afterwards; one of an event that another thread is in may.
  // Never call it in an action of run_after().
  void end();

  std::vector<DueFault> due(const FaultOccasion& occasion);
  void log(const FaultRule& rule);
  std::vector<std::string> injected() const;

  // Rules with `after` count their time from the first opened card.
  void card_opened();
  // Runs `action` on its own thread, unless the script ends before.
  void run_after(FaultTime delay, std::function<void()> action);

  // Lasting effects, by card.
  void set_absent(uint32_t card, std::optional<FaultTime> lasts);
  bool absent(uint32_t card) const;
  void set_hung(uint32_t card, bool hung);
  bool hung(uint32_t card) const;
  void set_link(uint32_t card, double factor);
  double link(uint32_t card) const;
  void set_memory(uint32_t card, uint64_t bytes);  // 0: all
  uint64_t memory(uint32_t card) const;
  void poison(uint32_t card, uint64_t address);
  // Whether a byte in [begin, end) has an ECC error.
  bool poisoned(uint32_t card, uint64_t begin, uint64_t end) const;
  void clear_poison(uint32_t card, uint64_t begin, uint64_t end);

 private:
  struct CardState {
    std::optional<Clock::time_point> absent_until;
    bool hung = false;
    double link = 1;
    uint64_t memory = 0;
    std::set<uint64_t> poisoned;  // addresses
  };
  FaultInjector();
  CardState state(uint32_t card) const;
  void run_timers();

  const uint32_t made_in_;  // fork_count() of the process that made it
  std::atomic<bool> active_{false};
  std::string problem_;
  std::string log_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<FaultPlan> plan_;
  std::map<uint32_t, CardState> cards_;
  std::vector<std::string> injected_;
  bool has_begun_ = false;  // a card was opened
  std::condition_variable timer_changed_;
  std::multimap<Clock::time_point, std::function<void()>> timers_;
  std::condition_variable action_ended_;
  bool has_timer_thread_ = false;
  bool is_acting_ = false;  // the timer thread is in an action
};

}  // namespace tandem::emulation
