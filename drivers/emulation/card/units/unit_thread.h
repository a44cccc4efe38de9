// SPDX-License-Identifier: Apache-2.0
//
// A compute unit: a thread that takes commands from its queue, runs the kernel and reports
// completion.
//
// Commands: ERT_START_CU (register map), ERT_EXEC_WRITE and ERT_START_KEY_VAL (offset, value
// pairs). A malformed packet, a deadlock of the kernel's processes and an unload while a kernel
// waits end a command in state ERROR. A free-running unit takes no commands: its kernel is called
// from launch() to stop(). Threads: made, launched, stopped and destroyed by the card's main
// thread; all units of a bitstream are stopped and joined before the first is destroyed, as links
// join them. A kernel that computes without end for a client that is gone is ended with its thread;
// another unit takes its place.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "emulation/card/memory/card_areas.h"
#include "emulation/card/program/kernel_library.h"
#include "emulation/card/units/command_queue.h"
#include "emulation/card/units/register_file.h"
#include "emulation/card/units/thread_end.h"
#include "fpga_hls/runtime/scheduler.h"

namespace tandem::emulation {

// What a unit is made of.
struct UnitPlan {
  std::string name;
  bool free_running = false;
  std::unique_ptr<KernelLibrary> library;
  void* const* streams = nullptr;  // [arguments]; null for those that are none
  hls_runtime::UnitGroup* group = nullptr;
};

class UnitThread {
 public:
  UnitThread(const CardAreas& areas, uint32_t unit, UnitPlan plan);
  ~UnitThread();
  UnitThread(const UnitThread&) = delete;
  UnitThread& operator=(const UnitThread&) = delete;

  void launch();
  // Ends every wait for streams; the command that runs fails.
  void stop();
  void join();

  // Asks the thread to end where it computes for `client`, whose command was cancelled. Not where
  // streams link the unit to others, which would be left with half of its data.
  void ask_to_end(const ClientArea& client) const;
  // Whether the thread ended by that. Then the object cannot be destroyed any more: put_aside()
  // ends its command, and a unit of the same plan takes its place.
  bool ended() const { return end_.ended.load(std::memory_order_acquire); }
  void put_aside();
  // With another load of the kernel. Errors: std::runtime_error.
  UnitPlan plan_again() const;

  // Whether a kernel computes; one that waits for streams can be stopped.
  bool busy() const;
  hls_runtime::Scheduler& scheduler() { return scheduler_; }

  // The unit whose thread is calling, -1 on other threads; safe in signal handlers.
  static int current();

 private:
  static void* start(void* self);
  void run();
  void run_command();
  bool load_registers(const Command& command);
  hls_runtime::End run_kernel(const Command& command);
  hls_runtime::End call_kernel();
  void run_freely();
  bool is_cancelled() const;
  bool is_linked() const;
  void report(const std::string& message) const;

  const CardAreas& areas_;
  const uint32_t unit_;
  UnitChannel& channel_;
  CommandQueue queue_;
  const UnitPlan plan_;
  RegisterFile registers_;
  hls_runtime::Scheduler scheduler_;
  std::optional<Command> command_;                      // that was taken
  std::atomic<bool> calling_{false};                    // the kernel, for command_
  std::atomic<const ClientArea*> called_for_{nullptr};  // only to be compared
  ThreadEnd end_;
  std::atomic<bool> stopping_{false};
  bool launched_ = false;
  pthread_t thread_{};
};

}  // namespace tandem::emulation
