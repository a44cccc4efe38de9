// SPDX-License-Identifier: Apache-2.0
//
// The C functions behind tandem_card_faults.h.
#include <cstdio>
#include <cstring>

#include "emulation/xrt_shim/faults/injector.h"

using tandem::emulation::FaultInjector;

extern "C" {

// Returns 0, or 1 with the error of the script.
int tandem_card_faults_begin(const char* script, char* problem, size_t capacity) {
  try {
    FaultInjector::instance().begin(tandem::emulation::parse_fault_script(script, "script"));
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(problem, capacity, "%s", error.what());
    return 1;
  }
}

void tandem_card_faults_end() { FaultInjector::instance().end(); }

// Writes at most `capacity` bytes of the injected faults, a line each; returns how many, or without
// room all there are.
size_t tandem_card_faults_read(char* text, size_t capacity) {
  std::string lines;
  for (const std::string& line : FaultInjector::instance().injected()) lines += line + "\n";
  if (text == nullptr) return lines.size();
  const size_t size = lines.size() < capacity ? lines.size() : capacity;
  std::memcpy(text, lines.data(), size);
  return size;
}

}  // extern "C"
