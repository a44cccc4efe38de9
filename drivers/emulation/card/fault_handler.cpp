// SPDX-License-Identifier: Apache-2.0
//
// Signal handlers: only atomic stores and _exit, both safe there.
#include "emulation/card/fault_handler.h"

#include <signal.h>
#include <unistd.h>

#include "emulation/card/unit_thread.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kNullBytes = 64 << 10;

const CardAreas* handled_areas = nullptr;

void on_fault(int signal, siginfo_t* info, void*) {
  SharedState& shared = handled_areas->shared();
  Fault& fault = shared.fault;
  int32_t none = 0;
  if (fault.signal.compare_exchange_strong(none, signal)) {
    fault.unit.store(UnitThread::current());
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
    const auto base = reinterpret_cast<uint64_t>(handled_areas->device.data());
    fault.is_memory_access.store(signal == SIGSEGV || signal == SIGBUS ? 1 : 0);
    // A non-canonical address raises a fault that does not tell it.
    const bool unknown = info->si_code == SI_KERNEL;
    fault.is_null.store(!unknown && address < kNullBytes ? 1 : 0);
    fault.device_address.store(unknown ? ~uint64_t{0} : address - base);
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
