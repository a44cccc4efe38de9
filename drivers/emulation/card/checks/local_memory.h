// SPDX-License-Identifier: Apache-2.0
//
// Records which bytes of its own variables a checked kernel may access: two maps of the process'
// address space, with one byte for every 8 bytes.
//
// Shadow map: written by the kernel's own code as in AddressSanitizer. 0: all 8 bytes are
// accessible; k from 1 to 7: the first k bytes; negative: none, but for kBlank. Blank map: a set
// bit marks a byte of a variable in scope that was not written yet. The kernel's own code skips
// accesses with 0 or k, so a value is negative as long as a byte is blank. Device memory has values
// of its own (device_shadow.h). The system allocates a page at its first access. Source:
// "AddressSanitizer: A Fast Address Sanity Checker" (2012). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tandem::emulation {

// These values and kBlank are also in inline_checks of v++. Each map spans 16 TiB of addresses that
// Linux does not use.
constexpr uint64_t kShadowOffset = 0x7fff8000;
constexpr uint64_t kBlankOffset = 0x200000000000;
constexpr uint64_t kAddressEnd = uint64_t{1} << 47;
constexpr uint64_t kFirstAddress = 4096;  // nothing is mapped before it
constexpr int8_t kOutOfScope = -8;        // in the shadow map; 0xf8 as in AddressSanitizer
// Of address 0: the call decides. Kernels look there if all accesses matter (inline_checks).
constexpr int8_t kCallDecides = -96;
// To kBlank + 7: as 0 to 7, but some of these bytes are blank.
constexpr int8_t kBlank = -112;
// To kPassedOn + 7: the same, because a value was stored that was missing itself.
constexpr int8_t kPassedOn = -104;

// Makes the maps. Throws std::runtime_error if the addresses are in use.
void map_local_memory();
bool has_local_memory();

inline int8_t& shadow_of(uint64_t address) {
  return *reinterpret_cast<int8_t*>((address >> 3) + kShadowOffset);
}
inline bool is_mappable(uint64_t address) {
  return address >= kFirstAddress && address < kAddressEnd;
}
inline bool is_marked_blank(int8_t shadow) { return (shadow & ~15) == kBlank; }
inline bool is_marked_passed(int8_t shadow) { return (shadow & ~7) == kPassedOn; }
// 0: all 8 bytes are accessible; k: the first k; negative: none.
inline int8_t bounds_of(uint64_t address) {
  const int8_t shadow = shadow_of(address);
  return is_marked_blank(shadow) ? static_cast<int8_t>(shadow & 7) : shadow;
}
inline uint8_t& blank_bits_of(uint64_t address) {
  return *reinterpret_cast<uint8_t*>((address >> 3) + kBlankOffset);
}

// Whether all bytes are 0.
inline bool are_zero(const void* bytes, uint64_t count) {
  const auto* at = static_cast<const char*>(bytes);
  uint64_t words[8], found = 0;
  for (; count >= sizeof(words); at += sizeof(words), count -= sizeof(words)) {
    std::memcpy(words, at, sizeof(words));
    for (const uint64_t word : words) found |= word;
    if (found != 0) return false;
  }
  for (; count != 0; ++at, --count) found |= static_cast<uint64_t>(*at);
  return found == 0;
}

// Whether an access of at most 8 bytes stays inside its variable.
inline bool may_touch(uint64_t address, uint64_t size_bytes) {
  const uint64_t last = address + size_bytes - 1;
  if ((shadow_of(address) | shadow_of(last)) == 0) return true;
  const int8_t first_bound = bounds_of(address);
  const int8_t last_bound = bounds_of(last);
  const auto inside = [](int8_t bound, uint64_t at) {
    return bound == 0 || (bound > 0 && static_cast<int8_t>(at & 7) < bound);
  };
  return inside(first_bound, address) && inside(last_bound, last);
}

bool may_touch_bytes(uint64_t address, uint64_t size_bytes);
// How many bytes from `address` on, at most `size_bytes`, stay inside its variable.
uint64_t accessible_bytes(uint64_t address, uint64_t size_bytes);
bool are_blank_bytes(uint64_t address, uint64_t size_bytes);
void set_written_bytes(uint64_t address, uint64_t size_bytes);
void set_passed_on_bytes(uint64_t address, uint64_t size_bytes);
void enter_scope_of(uint64_t address, uint64_t size_bytes);
void leave_scope_of(uint64_t address, uint64_t size_bytes);

// Whether none of the bytes was written since its variable came into scope.
inline bool is_blank(uint64_t address, uint64_t size_bytes) {
  const uint64_t first = address & 7;
  if (first + size_bytes > 8) return are_blank_bytes(address, size_bytes);
  const uint64_t bits = ((uint64_t{1} << size_bytes) - 1) << first;
  // Otherwise they are bits of a frame that has ended.
  return is_marked_blank(shadow_of(address)) && (blank_bits_of(address) & bits) == bits;
}
// Marks accessible bytes as blank again: a missing value was stored there.
inline void set_passed_on(uint64_t address, uint64_t size_bytes) {
  const uint64_t first = address & 7;
  if (first + size_bytes > 8) return set_passed_on_bytes(address, size_bytes);
  shadow_of(address) = static_cast<int8_t>(kPassedOn + bounds_of(address));
  blank_bits_of(address) |= static_cast<uint8_t>(((1u << size_bytes) - 1) << first);
}
// A store of accessible bytes. Most variables and accesses lie in one byte of the maps.
inline void set_written(uint64_t address, uint64_t size_bytes) {
  const uint64_t first = address & 7;
  if (first + size_bytes > 8) return set_written_bytes(address, size_bytes);
  uint8_t& bits = blank_bits_of(address);
  bits &= static_cast<uint8_t>(~(((1u << size_bytes) - 1) << first));
  int8_t& shadow = shadow_of(address);
  if (bits == 0 && is_marked_blank(shadow)) shadow &= 7;
}
inline void enter_scope(uint64_t address, uint64_t size_bytes) {
  if (size_bytes > 8 || (address & 7) != 0) return enter_scope_of(address, size_bytes);
  shadow_of(address) = static_cast<int8_t>(kBlank + static_cast<int8_t>(size_bytes & 7));
  blank_bits_of(address) = static_cast<uint8_t>((1u << size_bytes) - 1);
}
inline void leave_scope(uint64_t address, uint64_t size_bytes) {
  if (size_bytes > 8 || (address & 7) != 0) return leave_scope_of(address, size_bytes);
  shadow_of(address) = kOutOfScope;
  blank_bits_of(address) &= static_cast<uint8_t>(~((1u << size_bytes) - 1));
}
// Marks before and after a global variable of `size_bytes`, in its space of `padded_bytes`.
void guard_global(uint64_t address, uint64_t size_bytes, uint64_t padded_bytes);
// Makes the pages of both maps for a range.
void touch_maps(uint64_t begin, uint64_t end);
// Makes a range accessible again and clears its marks.
void forget(uint64_t begin, uint64_t end);

}  // namespace tandem::emulation
