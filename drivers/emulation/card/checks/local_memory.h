// SPDX-License-Identifier: Apache-2.0
//
// What a checked kernel may touch of its own variables: two maps of the process' address space, a
// byte for every 8 bytes.
//
// Bounds: written by the kernel's own code as in AddressSanitizer. 0: all 8 bytes may be used; k
// from 1 to 7: the first k; negative: none. Blank: a set bit is a byte of a variable that came into
// scope and was not written yet. Pages exist once they are touched. Source: "AddressSanitizer: A
// Fast Address Sanity Checker" (2012). Threads: any; a thread's stack is its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

// Also the compiler's option in kernel_checks.cpp of v++. Each map spans 16 TiB, where Linux puts
// nothing.
constexpr uint64_t kShadowOffset = 0x100000000000;
constexpr uint64_t kBlankOffset = 0x200000000000;
constexpr uint64_t kAddressEnd = uint64_t{1} << 47;
constexpr int8_t kOutOfScope = -8;  // in the bounds; 0xf8, as AddressSanitizer marks it

// Makes the maps. Throws std::runtime_error where the addresses are taken.
void map_local_memory();
bool has_local_memory();

inline int8_t& bounds_of(uint64_t address) {
  return *reinterpret_cast<int8_t*>((address >> 3) + kShadowOffset);
}
inline uint8_t& blank_bits_of(uint64_t address) {
  return *reinterpret_cast<uint8_t*>((address >> 3) + kBlankOffset);
}

// Whether an access of at most 8 bytes stays inside its variable.
inline bool may_touch(uint64_t address, uint64_t size_bytes) {
  const uint64_t last = address + size_bytes - 1;
  const int8_t first_bound = bounds_of(address);
  const int8_t last_bound = bounds_of(last);
  if ((first_bound | last_bound) == 0) return true;
  const auto inside = [](int8_t bound, uint64_t at) {
    return bound == 0 || (bound > 0 && static_cast<int8_t>(at & 7) < bound);
  };
  return inside(first_bound, address) && inside(last_bound, last);
}

bool may_touch_bytes(uint64_t address, uint64_t size_bytes);
// Whether none of the bytes was written since their variable came into scope.
bool is_blank(uint64_t address, uint64_t size_bytes);
void set_blank(uint64_t address, uint64_t size_bytes, bool blank);
void enter_scope(uint64_t address, uint64_t size_bytes);
void leave_scope(uint64_t address, uint64_t size_bytes);
// Marks before and after a global variable of `size_bytes`, in its space of `padded_bytes`.
void guard_global(uint64_t address, uint64_t size_bytes, uint64_t padded_bytes);
// Allows a range again and forgets what was in it.
void forget(uint64_t begin, uint64_t end);

}  // namespace tandem::emulation
