// SPDX-License-Identifier: Apache-2.0
//
// The states of values in a checked kernel of OpenCL C: a set bit marks a bit of memory without a
// value. clang's pass MemorySanitizer writes and reads them (bitstreams/compiler/opencl_c).
//
// The map covers all addresses, without three bits that do not differ between areas of a process.
// Device memory has no such bits: a missing value that is stored there is a finding. The system
// allocates a page at its first access. Source: "MemorySanitizer: fast detector of uninitialized
// memory use in C++" (2015). Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

// Also in access_marks.cpp and glue/opencl_c/checked_group.h of v++. map_local_memory() maps it.
constexpr uint64_t kValueStates = 0x300000000000;
constexpr uint64_t kValueAddressBits = (uint64_t{1} << 44) - 1;

inline uint8_t* value_states_of(uint64_t address) {
  return reinterpret_cast<uint8_t*>((address & kValueAddressBits) + kValueStates);
}

// Whether no byte has a value that was written.
inline bool are_missing_values(uint64_t address, uint64_t size_bytes) {
  const uint8_t* const states = value_states_of(address);
  for (uint64_t byte = 0; byte < size_bytes; ++byte) {
    if (states[byte] != 0xff) return false;
  }
  return size_bytes != 0;
}

}  // namespace tandem::emulation
