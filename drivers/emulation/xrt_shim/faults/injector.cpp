// SPDX-License-Identifier: Apache-2.0
//
// One object per process, never destroyed: applications close devices during static destruction.
#include "emulation/xrt_shim/faults/injector.h"

#include <cstdlib>
#include <thread>

#include "emulation/protocol/finding.h"
#include "emulation/protocol/fork_count.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

std::string fault_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

FaultInjector& FaultInjector::instance() {
  static std::atomic<FaultInjector*> current{nullptr};
  static std::mutex& making = *new std::mutex;
  const auto of_this_process = [] {
    FaultInjector* const found = current.load();
    return found != nullptr && found->made_in_ == fork_count() ? found : nullptr;
  };
  if (FaultInjector* const found = of_this_process()) return *found;
  std::lock_guard lock(making);
  if (of_this_process() == nullptr) current.store(new FaultInjector);
  return *current.load();
}

FaultInjector::FaultInjector()
    : made_in_(fork_count()), log_file_(fault_variable("TANDEM_FAULTS_LOG")) {
  const std::string script = fault_variable("TANDEM_FAULTS");
  if (script.empty()) return;
  try {
    begin(read_fault_script(script));
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
}

void FaultInjector::begin(FaultScript script) {
  end();
  {
    std::lock_guard lock(mutex_);
    plan_ = std::make_shared<FaultPlan>(std::move(script));
    injected_.clear();
    active_.store(true);
  }
  if (any_card_open()) card_opened();
}

void FaultInjector::end() {
  std::map<uint32_t, CardState> before;
  {
    std::unique_lock lock(mutex_);
    active_.store(false);
    plan_.reset();
    timers_.clear();
    action_ended_.wait(lock, [this] { return !is_acting_; });
    timers_.clear();  // the action may have added one
    has_begun_ = false;
    before.swap(cards_);
  }
  for (const auto& [card, state] : before) {
    if (state.hung) show_hung(card, false);
  }
}

std::vector<DueFault> FaultInjector::due(const FaultOccasion& occasion) {
  std::shared_ptr<FaultPlan> plan;
  {
    std::lock_guard lock(mutex_);
    plan = plan_;
  }
  return plan == nullptr ? std::vector<DueFault>() : plan->due(occasion);
}

void FaultInjector::log(const FaultRule& rule) {
  const std::string line = fault_statement(rule);
  {
    std::lock_guard lock(mutex_);
    injected_.push_back(line);
  }
  if (!log_file_.empty() && !append_line(log_file_, line)) {
    report_warning("cannot write to TANDEM_FAULTS_LOG '" + log_file_ + "'");
  }
}

std::vector<std::string> FaultInjector::injected() const {
  std::lock_guard lock(mutex_);
  return injected_;
}

void FaultInjector::card_opened() {
  std::shared_ptr<FaultPlan> plan;
  {
    std::lock_guard lock(mutex_);
    if (!has_begun_) plan = plan_;
    has_begun_ = true;
  }
  if (plan == nullptr) return;
  for (const FaultRule& rule : plan->script().rules) {
    if (rule.event != FaultEvent::kAfter) continue;
    run_after(rule.after, [rule] { apply_timed_fault(rule); });
  }
}

void FaultInjector::run_after(FaultTime delay, std::function<void()> action) {
  std::lock_guard lock(mutex_);
  timers_.emplace(Clock::now() + delay, std::move(action));
  if (!has_timer_thread_) std::thread([this] { run_timers(); }).detach();
  has_timer_thread_ = true;
  timer_changed_.notify_all();
}

void FaultInjector::run_timers() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (timers_.empty()) {
      timer_changed_.wait(lock);
      continue;
    }
    const auto first = timers_.begin();
    if (const auto due = first->first; due > Clock::now()) {
      timer_changed_.wait_until(lock, due);
      continue;
    }
    const std::function<void()> action = std::move(first->second);
    timers_.erase(first);
    is_acting_ = true;
    lock.unlock();
    action();
    lock.lock();
    is_acting_ = false;
    action_ended_.notify_all();
  }
}

FaultInjector::CardState FaultInjector::state(uint32_t card) const {
  std::lock_guard lock(mutex_);
  const auto found = cards_.find(card);
  return found == cards_.end() ? CardState() : found->second;
}

void FaultInjector::set_absent(uint32_t card, std::optional<FaultTime> lasts) {
  std::lock_guard lock(mutex_);
  cards_[card].absent_until = lasts ? Clock::now() + *lasts : Clock::time_point::max();
}

bool FaultInjector::absent(uint32_t card) const {
  const auto until = state(card).absent_until;
  return until && Clock::now() < *until;
}

void FaultInjector::set_hung(uint32_t card, bool hung) {
  {
    std::lock_guard lock(mutex_);
    cards_[card].hung = hung;
  }
  show_hung(card, hung);
}

bool FaultInjector::hung(uint32_t card) const { return state(card).hung; }

void FaultInjector::set_link(uint32_t card, double factor) {
  std::lock_guard lock(mutex_);
  cards_[card].link = factor;
}

double FaultInjector::link(uint32_t card) const { return state(card).link; }

void FaultInjector::set_memory(uint32_t card, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  cards_[card].memory = bytes;
}

uint64_t FaultInjector::memory(uint32_t card) const { return state(card).memory; }

void FaultInjector::poison(uint32_t card, uint64_t address) {
  std::lock_guard lock(mutex_);
  cards_[card].poisoned.insert(address);
}

bool FaultInjector::poisoned(uint32_t card, uint64_t begin, uint64_t end) const {
  std::lock_guard lock(mutex_);
  const auto found = cards_.find(card);
  if (found == cards_.end()) return false;
  const std::set<uint64_t>& errors = found->second.poisoned;
  const auto first = errors.lower_bound(begin);
  return first != errors.end() && *first < end;
}

void FaultInjector::clear_poison(uint32_t card, uint64_t begin, uint64_t end) {
  std::lock_guard lock(mutex_);
  auto& errors = cards_[card].poisoned;
  errors.erase(errors.lower_bound(begin), errors.lower_bound(end));
}

}  // namespace tandem::emulation
