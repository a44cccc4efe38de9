// SPDX-License-Identifier: Apache-2.0
//
// A compute unit: a thread that takes commands from its queue, runs the kernel and reports
// completion.
//
// Commands: ERT_START_CU (register map), ERT_EXEC_WRITE and ERT_START_KEY_VAL (offset, value
// pairs). A malformed packet ends in state ERROR. Threads: made, stopped and destroyed by the
// card's main thread. busy() is true while a kernel runs or a command waits.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <vector>

#include "emulation/card/card_areas.h"
#include "emulation/card/command_queue.h"
#include "emulation/card/kernel_library.h"
#include "emulation/card/register_file.h"

namespace tandem::emulation {

class UnitThread {
 public:
  UnitThread(const CardAreas& areas, uint32_t unit, std::unique_ptr<KernelLibrary> library);
  ~UnitThread();
  UnitThread(const UnitThread&) = delete;
  UnitThread& operator=(const UnitThread&) = delete;

  bool busy() const { return queue_.busy(); }

  // The unit whose thread is calling, -1 on other threads; safe in signal handlers.
  static int current();

 private:
  static void* start(void* self);
  void run();
  void run_command(const Command& command);
  bool load_registers(const Command& command);
  void run_kernel(const Command& command);
  void call_kernel();

  const CardAreas& areas_;
  const uint32_t unit_;
  UnitChannel& channel_;
  CommandQueue queue_;
  const std::unique_ptr<KernelLibrary> library_;
  RegisterFile registers_;
  std::atomic<bool> stopping_{false};
  pthread_t thread_{};
};

}  // namespace tandem::emulation
