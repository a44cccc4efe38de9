// SPDX-License-Identifier: Apache-2.0
//
// Variables begin at multiples of 8; ranges that do not are rounded outwards.
#include "emulation/card/checks/local_memory.h"

#include "emulation/card/checks/value_states.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tandem::emulation {
namespace {

constexpr int8_t kGlobalGuard = -7;
constexpr uint64_t kMapPage = 4096;
// Larger ranges are given back to the system, smaller ones are filled.
constexpr uint64_t kDropBytes = 1 << 20;

bool mapped_local_memory = false;

void map_one(uint64_t offset) {
  void* const at = reinterpret_cast<void*>(offset);
  void* const mapped =
      mmap(at, kAddressEnd >> 3, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped != at) {
    if (mapped != MAP_FAILED) munmap(mapped, kAddressEnd >> 3);
    throw std::runtime_error(std::string("cannot map the state of local memory: ") +
                             std::strerror(errno) + "; go without it by TANDEM_CHECKS=none");
  }
  madvise(at, kAddressEnd >> 3, MADV_DONTDUMP);
  madvise(at, kAddressEnd >> 3, MADV_NOHUGEPAGE);
}

// Most variables are small: a call would take longer.
void fill(void* map, int value, uint64_t count) {
  if (count >= 16) {
    std::memset(map, value, count);
    return;
  }
  auto* const bytes = static_cast<volatile int8_t*>(map);
  for (uint64_t at = 0; at < count; ++at) bytes[at] = static_cast<int8_t>(value);
}

// Zeroes [begin, end) of a map.
void zero_map(char* begin, char* end) {
  const auto size = static_cast<uint64_t>(end - begin);
  if (size < kDropBytes) {
    std::memset(begin, 0, size);
    return;
  }
  char* const first =
      reinterpret_cast<char*>((reinterpret_cast<uint64_t>(begin) + kMapPage - 1) & ~(kMapPage - 1));
  char* const last = reinterpret_cast<char*>(reinterpret_cast<uint64_t>(end) & ~(kMapPage - 1));
  std::memset(begin, 0, static_cast<size_t>(first - begin));
  madvise(first, static_cast<size_t>(last - first), MADV_DONTNEED);
  std::memset(last, 0, static_cast<size_t>(end - last));
}

}  // namespace

void map_local_memory() {
  map_one(kShadowOffset);
  map_one(kBlankOffset);
  map_one(kValueStates);
  shadow_of(0) = kCallDecides;
  mapped_local_memory = true;
}

bool has_local_memory() { return mapped_local_memory; }

bool may_touch_bytes(uint64_t address, uint64_t size_bytes) {
  for (uint64_t done = 0; done < size_bytes;) {
    const uint64_t step = std::min<uint64_t>(8 - ((address + done) & 7), size_bytes - done);
    const int8_t shadow = shadow_of(address + done);
    const bool is_whole = shadow == 0 || shadow == kBlank || shadow == kPassedOn;
    if (!is_whole && !may_touch(address + done, step)) return false;
    done += step;
  }
  return true;
}

uint64_t accessible_bytes(uint64_t address, uint64_t size_bytes) {
  uint64_t count = 0;
  while (count < size_bytes && may_touch(address + count, 1)) ++count;
  return count;
}

bool are_blank_bytes(uint64_t address, uint64_t size_bytes) {
  for (uint64_t byte = address; byte < address + size_bytes; ++byte) {
    if (!is_blank(byte, 1)) return false;
  }
  return true;
}

void set_written_bytes(uint64_t address, uint64_t size_bytes) {
  for (const uint64_t end = address + size_bytes; address < end;) {
    const uint64_t step = std::min<uint64_t>(8 - (address & 7), end - address);
    set_written(address, step);
    address += step;
  }
}

void set_passed_on_bytes(uint64_t address, uint64_t size_bytes) {
  for (uint64_t byte = address; byte < address + size_bytes; ++byte) set_passed_on(byte, 1);
}

void enter_scope_of(uint64_t address, uint64_t size_bytes) {
  const uint64_t words = size_bytes / 8, rest = size_bytes % 8;
  fill(&shadow_of(address), kBlank, words);
  fill(&blank_bits_of(address), 0xff, words);
  if (rest == 0) return;
  shadow_of(address + words * 8) = static_cast<int8_t>(kBlank + static_cast<int8_t>(rest));
  blank_bits_of(address + words * 8) = static_cast<uint8_t>((1u << rest) - 1);
}

void leave_scope_of(uint64_t address, uint64_t size_bytes) {
  fill(&shadow_of(address), kOutOfScope, (size_bytes + 7) / 8);
  fill(&blank_bits_of(address), 0, (size_bytes + 7) / 8);
}

void guard_global(uint64_t address, uint64_t size_bytes, uint64_t padded_bytes) {
  const uint64_t used = size_bytes / 8 * 8;
  if (size_bytes % 8 != 0) shadow_of(address + used) = static_cast<int8_t>(size_bytes % 8);
  const uint64_t free = (size_bytes + 7) / 8 * 8;
  if (padded_bytes > free) {
    std::memset(&shadow_of(address + free), kGlobalGuard, (padded_bytes - free) / 8);
  }
}

void touch_maps(uint64_t begin, uint64_t end) {
  for (const uint64_t offset : {kShadowOffset, kBlankOffset}) {
    const uint64_t last = ((end - 1) >> 3) + offset;
    for (uint64_t at = ((begin >> 3) + offset) & ~(kMapPage - 1); at <= last; at += kMapPage) {
      auto* const byte = reinterpret_cast<volatile char*>(std::max(at, (begin >> 3) + offset));
      *byte = *byte;
    }
  }
}

void forget(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  for (const uint64_t offset : {kShadowOffset, kBlankOffset}) {
    zero_map(reinterpret_cast<char*>((begin >> 3) + offset),
             reinterpret_cast<char*>(((end + 7) >> 3) + offset));
  }
}

}  // namespace tandem::emulation
