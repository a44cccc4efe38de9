// SPDX-License-Identifier: Apache-2.0
//
// The processes of one compute unit: fibers of the unit's thread, one running at a time.
//
// A process runs until it waits for a stream; then another ready one continues. When no process is
// ready, the unit waits for the streams that link it to other units (it spins briefly, then
// sleeps), or grows full streams up to 256 MiB, or ends the command as deadlocked. Processes that
// never end (tasks, free-running kernels) always wait. Cost: a switch takes some ten nanoseconds.
// Threads: one unit thread; signal(), stop() and end_in_deadlock() from any. Source: UG1399,
// dataflow and "Data-driven Task-level Parallelism".
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "fpga_hls/runtime/depth_trial.h"
#include "fpga_hls/runtime/process.h"
#include "fpga_hls/runtime/process_observer.h"
#include "fpga_hls/runtime/unit_group.h"

namespace tandem::hls_runtime {

enum class End { kDone, kStopped, kDeadlock };

struct UnitSettings {
  std::string name;
  UnitGroup* group = nullptr;            // the units of the card; null: the unit is alone
  bool free_running = false;             // the unit runs from load to unload, without commands
  std::function<bool()> cancelled = {};  // polled while the unit waits
  // The maximum number of passes of tasks after the kernel has returned. A pass takes at least some
  // hundred nanoseconds.
  uint32_t drain_passes = 1 << 24;
  // If true, a process of a region exceeds the depth of a stream, stated or the default one, only
  // when no process can continue, as on hardware. Scalars that it sets after its writes may then be
  // too late for the next call.
  bool keeps_depths = false;
  // If true, a full stream grows by one value at a time, so that the smallest sufficient depth is
  // found.
  bool exact_depths = false;
  DepthTrial* trial = DepthTrial::current();  // null: stated depths apply
  // The card's memory, by which hardware does not order processes: while depths are kept, a process
  // that waits for its turn there begins before a stream exceeds its depth. An observer is told
  // nothing of such waits.
  const void* global_memory = nullptr;
  uint64_t global_bytes = 0;
  // The number of values of a stream, from its first one on, for which depths are kept.
  uint64_t most_kept = ~uint64_t{0};
  // Called on the unit's thread when the unit begins to wait for other units and has new findings.
  std::function<void()> has_news = {};
  // Called before a process starts on the stack [low, top), unless the last one there returned.
  void (*stack_taken)(void* low, void* top) = nullptr;
  // Called by warm_stacks() in place of it, with time for what the first frames will need.
  void (*stack_warmed)(void* low, void* top) = nullptr;
  ProcessObserver* observer = nullptr;  // outlives the scheduler
};

class Scheduler {
 public:
  explicit Scheduler(UnitSettings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The unit's thread calls these first and last; leave_thread() unwinds the tasks.
  void adopt_thread();
  void leave_thread();
  // Makes stacks ready before a command needs them. Call it on the unit's thread.
  void warm_stacks(size_t count) { stacks_.warm(count, settings_.stack_warmed); }
  // Called in place of leave_thread() when the thread was ended from outside. The object is then
  // never destroyed.
  void lose_thread();
  // The scheduler of the calling thread; null if it has none.
  static Scheduler* current();

  // Runs a kernel as the unit's main process, then the tasks until they wait. After a deadlock
  // message() says which streams the processes wait for. Exceptions of processes end the program.
  End run(void (*kernel)(void*), void* argument);
  const std::string& message() const { return message_; }
  // Called by the running process: ends the command as End::kStopped. Leaves by an exception.
  void end_command();
  // Findings of the last run(); for a free-running unit of all its runs.
  const RunFindings& findings() const { return findings_; }
  // Runs the tasks until stop() is called.
  void run_tasks();
  bool has_tasks() const { return num_tasks_ != 0; }

  const std::string& name() const { return settings_.name; }
  // Whether the unit runs (a command, or free-running) and all its processes wait for other units.
  bool asleep() const { return asleep_.load(std::memory_order_acquire); }
  bool active() const { return active_.load(std::memory_order_acquire); }
  // From any thread: ends all present and later waits of the unit.
  void stop();
  void signal();
  void end_in_deadlock(const std::string& message, std::vector<StandingWait> waits);
  // Whether processes wait for their turn. begin_held_soon() starts one of them early.
  bool holds_processes() const { return num_held_.load(std::memory_order_acquire) != 0; }
  void begin_held_soon();

  // Whether `address` is in the guard below the running process' stack; signal-safe.
  bool overflowed(const void* address) const;
  // Whether `address` is in the stack of a process that has not ended.
  bool has_on_stack(const void* address) const;
  const char* running_process() const { return current_process_->name.c_str(); }

  // These implement the functions that kernels call.
  uint64_t await_data(Channel& channel);
  uint64_t await_space(Channel& channel);
  void await_any(const std::vector<Wait>& waits);
  void moved(Channel& channel, int side);
  void idle(const Channel& channel);
  // Called when a stream that holds values is destroyed.
  void left(const Channel& channel);
  Region* open_region();
  // The new process runs at once and its starter after it, so calls and scalars keep the order of
  // sequential C.
  void start(Region* region, const char* name, void (*body)(void*), void* argument,
             std::vector<tandem_use> uses = {});
  // A process that was started with uses calls this before it accesses them.
  void await_turn();
  void join(Region* region);
  uint64_t start_task(const char* name, void (*body)(void*), void* argument);
  void drop_task(uint64_t task);

 private:
  friend struct ProcessEntry;

  Process* make_process(const char* name, void (*body)(void*), void* argument);
  void run_now(Process* process);
  void finish(Process* process);
  boost::context::fiber leave(Process* process);
  void await(Channel& channel, int side);
  void gather(const Channel& channel);
  void switch_to(Process* next);
  void switch_exceptions(Process* from, const Process* to);
  void block(Blocked why);
  void make_ready(Process* process);
  Process* next();
  bool poll_waits();
  bool waits_on_link() const;
  bool grow_full_stream();
  void queue_behind_users(Process& process);
  void release_behind(Process* ended);
  bool begin_held(bool by_global_memory = false);
  bool is_behind_locally(const Process& before, const Process& process) const;
  bool outlast_threads();
  bool threads_outlasted() const;
  void declare_deadlock();
  void sleep();
  bool spin();
  void watch_links(bool on);
  void flush_wakes();
  void wake(Channel& channel, int side);
  void check_stop();
  bool must_stop(const Process& process) const;
  bool is_cancelled() const { return settings_.cancelled && settings_.cancelled(); }
  void stop_if_cancelled();
  void stop_command(End end);
  void wake_stopped();
  void end_tasks();
  void drain();
  bool may_run_ahead(const Channel& channel) const;
  bool keeps_depth(const Channel& channel) const;
  void take_default_depth(Channel& channel) const;
  // Full streams of a free-running unit do not grow one value at a time, so their depths stay as
  // stated.
  bool tries_depths() const { return settings_.trial != nullptr && !settings_.free_running; }
  bool strict() const { return settings_.free_running || current_process_->task; }
  std::vector<PublishedWait> all_waits() const;
  std::vector<StandingWait> standing_waits() const;
  void note_growth(const Channel& channel);
  static void count_thread(int change);

  UnitSettings settings_;
  StackPool stacks_;
  Process main_;
  Process* current_process_ = &main_;
  std::unordered_map<uint64_t, std::unique_ptr<Process>> processes_;  // all but main_
  std::deque<Process*> ready_;
  std::vector<Process*> blocked_;
  std::vector<Channel*> late_wakes_;
  std::unique_ptr<Process> ended_;
  uint64_t next_id_ = 2;  // 1 is main_
  uint32_t num_tasks_ = 0;
  uint64_t progress_ = 0;
  uint32_t idle_turns_ = 0;
  uint32_t sleeps_ = 0;
  uint32_t turns_ = 0;
  std::chrono::steady_clock::time_point asleep_since_;
  // the thread's exception state, which belongs to the running process
  Exceptions* exceptions_ = nullptr;
  std::chrono::nanoseconds spin_budget_{20'000};
  bool command_over_ = false;  // set when processes of the command must unwind
  bool unit_over_ = false;     // set when tasks must unwind, too
  End end_ = End::kDone;
  std::string message_;
  RunFindings findings_;
  bool news_ = false;  // findings_ has findings that has_news() has not reported
  char* main_stack_guard_ = nullptr;
  char* main_stack_low_ = nullptr;
  char* main_stack_top_ = nullptr;

  std::atomic<uint32_t> event_{0};
  std::atomic<bool> futex_asleep_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<bool> active_{false};
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> deadlock_found_{false};
  std::atomic<uint32_t> num_held_{0};
  std::atomic<bool> begin_requested_{false};
  std::mutex deadlock_mutex_;
  std::string deadlock_message_;
  std::vector<StandingWait> deadlock_waits_;
};

}  // namespace tandem::hls_runtime
