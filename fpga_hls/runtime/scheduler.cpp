// SPDX-License-Identifier: Apache-2.0
//
// Starting, switching and ending processes. What happens when none can run is in waiting.cpp.
#include "fpga_hls/runtime/scheduler.h"

#include <cxxabi.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "fpga_hls/runtime/sanitizer_fiber.h"

namespace tandem::hls_runtime {
namespace {

thread_local Scheduler* current_scheduler = nullptr;

// Gives a process' fiber its own stack; the pool gets it back when the process is destroyed.
struct OwnStack {
  boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.size = kStackBytes;
    context.sp = stack.top();
    return context;
  }
  void deallocate(boost::context::stack_context&) const {}
  Stack stack;
};

}  // namespace

Scheduler* Scheduler::current() { return current_scheduler; }

Scheduler::Scheduler(UnitSettings settings) : settings_(std::move(settings)) {
  main_.id = 1;
  main_.name = settings_.name;
}

Scheduler::~Scheduler() {
  if (settings_.group != nullptr) settings_.group->withdraw(*this);
}

void Scheduler::adopt_thread() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    size_t size_bytes = 0, guard_bytes = 0;
    pthread_attr_getstack(&attributes, &low, &size_bytes);
    pthread_attr_getguardsize(&attributes, &guard_bytes);
    pthread_attr_destroy(&attributes);
    main_stack_low_ = static_cast<char*>(low);
    main_stack_top_ = main_stack_low_ + size_bytes;
    main_stack_guard_ = main_stack_low_ - std::max<size_t>(guard_bytes, 4096);
    main_.sanitizer = sanitizer::thread_fiber(main_stack_low_, size_bytes);
  }
  current_scheduler = this;
  exceptions_ = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  count_thread(1);
  if (settings_.free_running) active_.store(true);
}

void Scheduler::leave_thread() {
  end_tasks();
  if (settings_.group != nullptr) settings_.group->withdraw(*this);
  sanitizer::drop_thread_fiber(main_.sanitizer);
  main_.sanitizer = nullptr;
  current_scheduler = nullptr;
  count_thread(-1);
}

void Scheduler::lose_thread() {
  if (settings_.group != nullptr) settings_.group->withdraw(*this);
  count_thread(-1);
}

// The first frames of a process.
struct ProcessEntry {
  Scheduler* scheduler;
  Process* process;
  boost::context::fiber operator()(boost::context::fiber&&) const {
    sanitizer::arrived(process->sanitizer);
    try {
      process->body(process->argument);
      process->stack.is_clean = true;
    } catch (const Stopped&) {
      // The command has ended and the stack is unwound; nothing remains to do.
    } catch (...) {
      std::terminate();  // prints what was thrown; the card reports the rest
    }
    scheduler->finish(process);
    return scheduler->leave(process);
  }
};

Process* Scheduler::make_process(const char* name, void (*body)(void*), void* argument) {
  auto process = std::make_unique<Process>();
  process->id = next_id_++;
  process->name = name;
  process->parent = current_process_;
  process->body = body;
  process->argument = argument;
  process->stack = stacks_.take();
  if (settings_.stack_taken != nullptr && !process->stack.is_clean) {
    settings_.stack_taken(process->stack.low(), process->stack.top());
  }
  process->stack.is_clean = false;
  process->sanitizer = sanitizer::make_fiber(process->stack.low(), kStackBytes);
  process->context = boost::context::fiber(std::allocator_arg, OwnStack{process->stack},
                                           ProcessEntry{this, process.get()});
  Process* const result = process.get();
  processes_.emplace(result->id, std::move(process));
  return result;
}

// Runs a new process until it waits; the caller is next.
void Scheduler::run_now(Process* process) {
  ready_.push_front(current_process_);
  switch_to(process);
  check_stop();
}

// Removes an ended process from the tables; it still runs on its own stack.
void Scheduler::finish(Process* process) {
  ++progress_;
  if (process->region != nullptr) {
    if (settings_.observer != nullptr) settings_.observer->ended(process->id);
    --process->region->live;
    release_behind(process);
    Process* const parent = process->parent;
    --parent->live_children;
    const bool joined = parent->joining != nullptr && parent->joining->live == 0;
    if (parent->blocked == Blocked::kJoin && (joined || parent->live_children == 0)) {
      make_ready(parent);
    }
  }
  if (process->task) --num_tasks_;
}

// Switches away from the ended process for ever.
boost::context::fiber Scheduler::leave(Process* process) {
  Process* const to = next();
  const auto found = processes_.find(process->id);
  if (settings_.observer != nullptr) settings_.observer->switched(process->id, to->id);
  ended_ = std::move(found->second);
  processes_.erase(found);
  current_process_ = to;
  switch_exceptions(ended_.get(), to);
  sanitizer::leave_for_good(ended_->sanitizer, to->sanitizer);
  return std::move(to->context);
}

void Scheduler::switch_to(Process* to) {
  Process* const from = current_process_;
  if (to == from) return;
  if (settings_.observer != nullptr) settings_.observer->switched(from->id, to->id);
  current_process_ = to;
  switch_exceptions(from, to);
  sanitizer::leave(from->sanitizer, to->sanitizer);
  std::move(to->context).resume_with([from](boost::context::fiber&& left) {
    from->context = std::move(left);
    return boost::context::fiber();
  });
  sanitizer::arrived(from->sanitizer);
  if (ended_ != nullptr) {
    stacks_.give_back(ended_->stack);
    sanitizer::drop_fiber(ended_->sanitizer);
    ended_.reset();
  }
}

void Scheduler::switch_exceptions(Process* from, const Process* to) {
  from->exceptions = *exceptions_;
  *exceptions_ = to->exceptions;
}

void Scheduler::make_ready(Process* process) {
  if (process->blocked == Blocked::kNo) return;
  if (process->blocked == Blocked::kTurn) num_held_.fetch_sub(1);
  for (const Wait& wait : process->waits) {
    // Of a link's end the sleeper is this unit, else it is the process, or one that came later.
    std::atomic<void*>& sleeper = wait.channel->sleeper[wait.side];
    void* const mine =
        wait.channel->unit[wait.side] != nullptr ? static_cast<void*>(this) : process;
    if (sleeper.load(std::memory_order_relaxed) == mine) {
      sleeper.store(nullptr, std::memory_order_relaxed);
    }
  }
  process->blocked = Blocked::kNo;
  blocked_.erase(std::find(blocked_.begin(), blocked_.end(), process));
  ready_.push_back(process);
  ++progress_;
}

void Scheduler::block(Blocked why) {
  Process* const process = current_process_;
  process->blocked = why;
  blocked_.push_back(process);
  for (const Wait& wait : process->waits) {
    Channel& channel = *wait.channel;
    channel.process[wait.side].store(process->id, std::memory_order_relaxed);
    if (channel.unit[wait.side] != nullptr) continue;  // a link: next() checks it
    channel.sleeper[wait.side].store(process, std::memory_order_relaxed);
    channel.attention.store(1, std::memory_order_relaxed);
  }
  switch_to(next());
  process->waits.clear();
  check_stop();
}

bool Scheduler::must_stop(const Process& process) const {
  if (process.task) return unit_over_ || process.dropped;
  for (const Process* at = &process; at != nullptr; at = at->parent) {
    if (at->task) return unit_over_ || at->dropped;
  }
  return command_over_;
}

// Throws in a process whose command has ended, after the processes that it started have ended.
void Scheduler::check_stop() {
  Process& process = *current_process_;
  if (!must_stop(process)) return;
  while (process.live_children != 0) {
    process.joining = nullptr;
    process.blocked = Blocked::kJoin;
    blocked_.push_back(&process);
    switch_to(next());
  }
  throw Stopped();
}

Region* Scheduler::open_region() { return new Region(); }

void Scheduler::start(Region* region, const char* name, void (*body)(void*), void* argument,
                      std::vector<tandem_use> uses) {
  check_stop();
  Process* const process = make_process(name, body, argument);
  process->region = region;
  process->task = false;
  process->uses = std::move(uses);
  queue_behind_users(*process);
  ++region->live;
  ++current_process_->live_children;
  if (settings_.observer != nullptr) {
    std::vector<uint64_t> behind;
    for (const Process* const before : process->behind) {
      if (is_behind_locally(*before, *process)) behind.push_back(before->id);
    }
    settings_.observer->started(process->id, process->name, behind);
  }
  run_now(process);
}

void Scheduler::join(Region* region) {
  Process& process = *current_process_;
  while (region->live != 0) {
    process.joining = region;
    block(Blocked::kJoin);
    process.joining = nullptr;
  }
  check_stop();
  if (settings_.observer != nullptr) settings_.observer->joined();
}

uint64_t Scheduler::start_task(const char* name, void (*body)(void*), void* argument) {
  Process* const process = make_process(name, body, argument);
  process->task = true;
  process->parent = nullptr;
  ++num_tasks_;
  const uint64_t id = process->id;
  run_now(process);
  return id;
}

void Scheduler::drop_task(uint64_t task) {
  const auto found = processes_.find(task);
  if (found == processes_.end()) return;
  Process* const process = found->second.get();
  process->dropped = true;
  // Its destructors run now, because the objects that it refers to are destroyed next.
  while (process != current_process_ && processes_.count(task) != 0) {
    wake_stopped();
    const auto place = std::find(ready_.begin(), ready_.end(), process);
    if (place != ready_.end()) {
      ready_.erase(place);
      ready_.push_front(current_process_);
      switch_to(process);
    } else {  // waits for its child processes
      ready_.push_back(current_process_);
      switch_to(next());
    }
  }
}

void Scheduler::end_tasks() {
  unit_over_ = true;
  std::vector<uint64_t> tasks;
  for (const auto& [id, process] : processes_) {
    if (process->task) tasks.push_back(id);
  }
  for (const uint64_t task : tasks) drop_task(task);
}

void Scheduler::stop_command(End end) {
  if (command_over_) return;
  end_ = end;
  command_over_ = true;
  wake_stopped();
}

void Scheduler::end_command() {
  stop_command(End::kStopped);
  check_stop();
}

// Processes whose command or task has ended, but which wait for their child processes.
void Scheduler::wake_stopped() {
  const std::vector<Process*> blocked = blocked_;
  for (Process* process : blocked) {
    const bool joins = process->blocked == Blocked::kJoin && process->live_children != 0;
    if (!joins && must_stop(*process)) make_ready(process);
  }
}

void Scheduler::stop_if_cancelled() {
  if (command_over_ || !is_cancelled()) return;
  findings_.waits = standing_waits();
  stop_command(End::kStopped);
}

End Scheduler::run(void (*kernel)(void*), void* argument) {
  end_ = End::kDone;
  command_over_ = false;
  if (!settings_.free_running) findings_ = {};
  // Clears what an earlier command published; the unit publishes nothing now.
  deadlock_found_.store(false);
  active_.store(true, std::memory_order_release);
  try {
    kernel(argument);
    drain();
  } catch (const Stopped&) {
    // end_ tells why.
  }
  command_over_ = false;
  if (tries_depths()) settings_.trial->record(findings_);
  // A free-running kernel is called for every few values, so it wakes others only when it rests.
  if (!settings_.free_running) {
    flush_wakes();
    active_.store(false, std::memory_order_release);
  }
  return end_;
}

// Runs tasks until no value moves any more, or until values only circulate.
void Scheduler::drain() {
  uint64_t before = progress_;
  uint32_t passes = 0;
  for (int still = 0; still < 2 && (poll_waits() || !ready_.empty());) {
    if (++passes > settings_.drain_passes) return;
    ready_.push_back(current_process_);
    switch_to(next());
    check_stop();
    still = progress_ == before ? still + 1 : 0;
    before = progress_;
  }
}

void Scheduler::run_tasks() {
  try {
    while (true) block(Blocked::kForever);
  } catch (const Stopped&) {
    // The unit is unloaded.
  }
}

bool Scheduler::overflowed(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  if (current_process_ == &main_) return at >= main_stack_guard_ && at < main_stack_low_;
  const Stack& stack = current_process_->stack;
  return at >= stack.guard && at < stack.low();
}

bool Scheduler::has_on_stack(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  if (at >= main_stack_low_ && at < main_stack_top_) return true;
  return current_process_->stack.holds(at) ||
         std::any_of(processes_.begin(), processes_.end(),
                     [at](const auto& each) { return each.second->stack.holds(at); });
}

}  // namespace tandem::hls_runtime
