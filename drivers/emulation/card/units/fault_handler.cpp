// SPDX-License-Identifier: Apache-2.0
//
// Signal handlers: they use atomic stores and _exit only, which are safe there. The exception is
// the report of an access by a checked kernel: the card ends anyway, and a kernel's own access
// interrupts no function of the C library. If it did not return, the alarm would end the card.
#include "emulation/card/units/fault_handler.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/units/stopped_at.h"
#include "emulation/card/units/unit_thread.h"
#include "fpga_hls/runtime/scheduler.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kNullBytes = 64 << 10;
constexpr unsigned kReportSeconds = 10;

const CardAreas* handled_areas = nullptr;

void print(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

// A stack overflow looks like any other bad access, but the user can do something else about it.
bool report_overflow(const void* address) {
  const hls_runtime::Scheduler* const unit = hls_runtime::Scheduler::current();
  if (unit == nullptr || !unit->overflowed(address)) return false;
  print("tandem-card: process '");
  print(unit->running_process());
  print(
      "' ran over its stack of 256 MiB: its local arrays are too large, or a function calls itself "
      "without end\n");
  return true;
}

// Places are looked up as those of calls: an address behind the one that is meant.
void report_access(const siginfo_t& info, const ucontext_t& context) {
  const uint64_t at = stopped_at(context);
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || !checks->is_in_code(at)) return;
  ::signal(SIGALRM, SIG_DFL);
  alarm(kReportSeconds);
  checks->faulted(reinterpret_cast<uint64_t>(info.si_addr), info.si_code != SI_KERNEL,
                  reinterpret_cast<const void*>(at + 1));
}

void note_fault(int signal, const siginfo_t& info) {
  Fault& fault = handled_areas->shared().fault;
  int32_t none = 0;
  if (!fault.signal.compare_exchange_strong(none, signal)) return;
  fault.unit.store(UnitThread::current());
  const auto address = reinterpret_cast<uint64_t>(info.si_addr);
  const auto base = reinterpret_cast<uint64_t>(handled_areas->device.data());
  fault.is_memory_access.store(signal == SIGSEGV || signal == SIGBUS ? 1 : 0);
  // For a non-canonical address the fault does not state the address.
  const bool unknown = info.si_code == SI_KERNEL;
  fault.is_null.store(!unknown && address < kNullBytes ? 1 : 0);
  fault.device_address.store(unknown ? ~uint64_t{0} : address - base);
}

// Noted first: the report may not return.
void on_fault(int signal, siginfo_t* info, void* context) {
  note_fault(signal, *info);
  if (signal == SIGSEGV && !report_overflow(info->si_addr)) {
    report_access(*info, *static_cast<const ucontext_t*>(context));
  }
  _exit(128 + signal);
}

}  // namespace

void install_fault_handler(const CardAreas& areas) {
  handled_areas = &areas;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace tandem::emulation
