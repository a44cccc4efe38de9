// SPDX-License-Identifier: Apache-2.0
//
// UnitThread: a compute unit: a thread that takes commands from its queue, runs the kernel and
// reports the end.
//
// Commands: ERT_START_CU (register map), ERT_EXEC_WRITE and ERT_START_KEY_VAL (pairs of offset and
// value). A command ends in state ERROR if its packet is malformed, the kernel's processes
// deadlock, or the bitstream is unloaded while the kernel waits. A free-running unit takes no
// commands: its kernel runs from launch() to stop(). A kernel that computes endlessly for a dead
// client is ended with its thread, and a new unit replaces it. Threads: made, launched, stopped and
// destroyed by the card's main thread. All units of a bitstream are stopped and joined before the
// first is destroyed, because they share links.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/memory/card_areas.h"
#include "emulation/card/program/kernel_library.h"
#include "emulation/card/timing/run_timer.h"
#include "emulation/card/units/command_queue.h"
#include "emulation/card/units/register_file.h"
#include "emulation/card/units/thread_end.h"
#include "fpga_hls/runtime/scheduler.h"

namespace tandem::emulation {

// How reports about another unit name this one.
struct UnitIdentity {
  std::string name;
  CodeRange code;
};

// The parts a unit is made from.
struct UnitPlan {
  std::string name;
  bool free_running = false;
  std::unique_ptr<KernelLibrary> library;
  void* const* streams = nullptr;  // [arguments]; null for arguments that are not streams
  hls_runtime::UnitGroup* group = nullptr;
  std::vector<std::string> argument_names;  // for reports; fewer if some are not known
  const std::vector<UnitIdentity>* identities = nullptr;  // of all units of the bitstream
  std::vector<std::string> ports = {};                    // of each argument
  std::shared_ptr<const timing::TimedCard> card = {};
};

class UnitThread {
 public:
  UnitThread(const CardAreas& areas, uint32_t unit, UnitPlan plan);
  ~UnitThread();
  UnitThread(const UnitThread&) = delete;
  UnitThread& operator=(const UnitThread&) = delete;

  void launch();
  // Ends every wait for streams; the running command fails.
  void stop();
  void join();

  // Asks the thread to end if it computes for `client`, whose command was cancelled. Does nothing
  // for a unit with stream links, because its neighbours would keep incomplete data.
  void ask_to_end(const ClientArea& client) const;
  // The same if its command takes longer than the card's deadline.
  void ask_to_end_if_late() const;
  // Whether one of these calls has ended the thread. If so, do not destroy the object: abandon()
  // ends its command, and a new unit of the same plan replaces it.
  bool ended() const { return end_.ended.load(std::memory_order_acquire); }
  void abandon();
  UnitIdentity identity() const { return {plan_.name, end_.code}; }
  // The plan with another copy of the kernel. Errors: std::runtime_error.
  UnitPlan plan_again() const;

  // Whether a kernel computes. A kernel that waits for streams is not busy: it can be stopped.
  bool busy() const;
  hls_runtime::Scheduler& scheduler() { return scheduler_; }
  const UnitPlan& plan() const { return plan_; }
  // Whether it has no command, and all its commands did what they were to.
  bool is_content() const { return !has_failed_.load() && !queue_.busy(); }
  // Of the kernel, that have ended.
  uint64_t num_calls() const { return num_calls_.load(); }
  // Values are left in a link of `depth` to `reader`. From any thread.
  void report_left(const hls_runtime::LeftValues& left, uint64_t depth,
                   const std::string& reader) const;
  // How long the present command has run; 0: none does. From any thread.
  std::chrono::nanoseconds running_for() const;

  // The unit whose thread is calling, -1 on other threads; safe in signal handlers.
  static int current();

 private:
  static void* start(void* self);
  void run();
  void run_command();
  bool load_registers(const Command& command);
  hls_runtime::End run_with_faults(const Command& command);
  hls_runtime::End run_kernel();
  hls_runtime::End call_kernel();
  void note_call(uint32_t number);
  void run_freely();
  std::vector<timing::TimedArgument> timed_arguments();
  void begin_timing();
  hls_runtime::UnitSettings scheduler_settings();
  RunChecks::Unit checks_settings();
  bool is_cancelled() const;
  bool is_late() const;
  void note_place_if_late();
  bool is_linked() const;
  std::string argument_name(uint32_t index) const;
  std::vector<PointerArgument> pointers();
  void report(const std::string& message) const;
  void report_findings(hls_runtime::End end);
  void report_finding(Finding finding);
  void report_time();
  void report_rtl_stop();
  void report_rtl_time(std::chrono::steady_clock::time_point begun);
  void tell(const Finding& finding) const;
  void add_finding(Finding finding);
  void write_finding(Finding finding) const;
  void report_late(const std::vector<hls_runtime::StandingWait>& waits);
  void name_stream_argument(Finding& finding) const;

  const CardAreas& areas_;
  const uint32_t unit_;
  UnitChannel& channel_;
  CommandQueue queue_;
  const UnitPlan plan_;
  RegisterFile registers_;
  const std::unique_ptr<RunTimer> timer_;  // if the copy counts
  hls_runtime::Scheduler scheduler_;
  std::optional<RunChecks> checks_;  // if the kernel is checked
  std::set<std::string> reported_;   // findings of this command that were reported
  uint64_t num_found_ = 0;
  double modelled_us_ = 0;                                   // of the command; 0: no time model
  std::vector<TimedRegister> timed_registers_;               // of the call, for waveforms
  std::atomic<std::chrono::steady_clock::rep> begun_at_{0};  // start of the command in calling_
  std::optional<Command> command_;                           // from the queue
  std::atomic<bool> calling_{false};                         // the kernel runs for command_
  std::atomic<const ClientArea*> called_for_{nullptr};       // only compared, never dereferenced
  std::vector<const void*> late_at_;  // the kernel's calls when its deadline was found exceeded
  ThreadEnd end_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_failed_{false};  // a command
  std::atomic<uint64_t> num_calls_{0};
  bool launched_ = false;
  pthread_t thread_{};
};

}  // namespace tandem::emulation
