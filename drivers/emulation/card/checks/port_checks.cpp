// SPDX-License-Identifier: Apache-2.0
//
// Checks of the ports of RTL kernels: RunChecks for whole bursts, and the functions that such
// kernels call (bitstreams/compiler/glue/rtl/pins.h).
//
// A finding names the port instead of a source line. Without checks a broken protocol is printed
// only.
#include <cstdio>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/timing/rtl_time.h"

namespace tandem::emulation {

void RunChecks::port_access(const char* port, uint64_t device_address, uint64_t size_bytes,
                            bool writes) {
  // Places of reads and of writes differ.
  const void* const from = port + (writes ? 1 : 0);
  port_ = port;
  const uint64_t end = device_address + size_bytes;
  if (end < device_address || end > device_bytes_) {
    report_outside(device_address, size_bytes, writes, from);
  } else if (writes) {
    store(device_ + device_address, size_bytes, from);
  } else {
    load(device_ + device_address, size_bytes, from);
  }
  port_ = nullptr;
}

void RunChecks::port_protocol(const char* port, const std::string& rule, const std::string& what) {
  any_found_ = true;
  if (!told_rules_.insert(std::string(port) + " " + rule).second) return;
  port_ = port;
  report({"axi_protocol", true, what, ~uint64_t{0}, "", 0}, port);
  port_ = nullptr;
}

void RunChecks::name_port(Finding& finding) const {
  finding.message = "port " + std::string(port_) + ": " + finding.message;
  finding.more.emplace_back("port", json_string(port_));
}

}  // namespace tandem::emulation

#define TANDEM_RTL_CALL extern "C" __attribute__((visibility("default")))

TANDEM_RTL_CALL uint64_t tandem_rtl_memory_bytes() { return tandem::emulation::rtl_memory_bytes(); }
TANDEM_RTL_CALL void tandem_rtl_access(const char* port, uint64_t address, uint64_t size_bytes,
                                       int writes) {
  if (auto* const checks = tandem::emulation::RunChecks::current()) {
    checks->port_access(port, address, size_bytes, writes != 0);
  }
}
TANDEM_RTL_CALL void tandem_rtl_protocol(const char* port, const char* rule, const char* what) {
  if (auto* const checks = tandem::emulation::RunChecks::current()) {
    checks->port_protocol(port, rule, what);
  } else {
    std::fprintf(stderr, "tandem-card: port %s: %s\n", port, what);
  }
}
TANDEM_RTL_CALL uint64_t tandem_rtl_stalls() { return tandem::emulation::rtl_stalls(); }
TANDEM_RTL_CALL void tandem_rtl_ran(uint64_t cycles) { tandem::emulation::add_rtl_cycles(cycles); }
