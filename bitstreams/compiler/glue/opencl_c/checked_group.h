// SPDX-License-Identifier: Apache-2.0
//
// What the checked copy of an OpenCL C kernel does around the kernel's own code: it tells the card
// which work-item runs and which memory the items of a group share, and gives local memory and the
// source of new variables the states of bytes without a value (opencl_c/value_marks.h).
//
// Without a card the functions tandem_check_... are empty ones of the same object. The types are
// those of vpp/kernel_checks.cpp. C++14. Threads: as WorkGroup.
#pragma once

#include "checked_loops.h"
#include "work_group.h"

extern "C" {
int tandem_check_group_begin(unsigned long items, void* ranges, unsigned long count);
void tandem_check_item(unsigned long item);
void tandem_check_interval();
void tandem_check_uneven(void* first, void* other, unsigned long reached, unsigned long items);
void tandem_check_packet_leaves(void* packet, unsigned long bytes);
void* tandem_check_group_copy(void* to, const void* from, unsigned long n, void* code);

// Where variables come from that have no value yet.
__attribute__((aligned(128))) unsigned char tandem_cl_no_value[128];
// Whether several items run that may share memory.
int tandem_cl_shares;

// A call of memset() would be one of the kernel's.
void tandem_cl_fill_states(void* states, unsigned char state, unsigned long bytes) {
#if defined(__x86_64__)
  __asm__ volatile("rep stosb" : "+D"(states), "+c"(bytes) : "a"(state) : "memory");
#else
  volatile unsigned char* at = static_cast<unsigned char*>(states);
  while (bytes-- != 0) *at++ = state;
#endif
}
void __msan_init() {}
}

namespace tandem_opencl {

constexpr std::uint64_t kValueStates = 0x300000000000;
constexpr std::uint64_t kMostRanges = 64;

inline void set_values(std::uint64_t address, std::uint64_t bytes, bool missing) {
  const std::uint64_t at = (address & 0xfffffffffff) + kValueStates;
  tandem_cl_fill_states(reinterpret_cast<void*>(at), missing ? 0xff : 0, bytes);
}

inline const GroupWatch* group_watch() {
  static const GroupWatch watch = {
      [](std::uint64_t item) {
        if (tandem_cl_shares != 0) tandem_check_item(item);
      },
      [] {
        if (tandem_cl_shares != 0) tandem_check_interval();
      },
      [](const void* first, const void* other, std::uint64_t reached, std::uint64_t items) {
        tandem_check_uneven(const_cast<void*>(first), const_cast<void*>(other), reached, items);
      }};
  return &watch;
}

// `locals`: the kernel's own local variables; the memory of its local arguments follows.
inline void begin_group(WorkGroup& group, const std::uint64_t* locals, std::uint64_t arguments,
                        std::uint64_t argument_bytes) {
  const std::uint64_t* const size = group.group.local_size;
  std::uint64_t ranges[2 * kMostRanges + 2] = {arguments, argument_bytes};
  std::uint64_t count = 1;
  for (; locals[0] != 0 && count < kMostRanges; locals += 2) {
    ranges[2 * count] = locals[0];
    ranges[2 * count++ + 1] = locals[1];
  }
  tandem_cl_shares = tandem_check_group_begin(size[0] * size[1] * size[2], ranges, count);
  group.watch = group_watch();
  for (std::uint64_t range = 0; range < count; ++range) {
    set_values(ranges[2 * range], ranges[2 * range + 1], true);
  }
  set_values(reinterpret_cast<std::uint64_t>(tandem_cl_no_value), sizeof(tandem_cl_no_value), true);
  set_values(reinterpret_cast<std::uint64_t>(&group.group), sizeof(group.group), false);
}

// The group's copies run beside its items.
inline void begin_copy() {
  const std::uint64_t* const size = work_group().group.local_size;
  if (tandem_cl_shares != 0) tandem_check_item(size[0] * size[1] * size[2]);
}
inline void end_copy() {
  if (tandem_cl_shares != 0) tandem_check_item(0);
}
inline void copy_values(void* to, void* from, unsigned long bytes, void* code) {
  tandem_check_group_copy(to, from, bytes, code);
}
inline void packet_arrives(void* packet, unsigned long bytes) {
  set_values(reinterpret_cast<std::uint64_t>(packet), bytes, false);
}
inline void packet_leaves(void* packet, unsigned long bytes) {
  tandem_check_packet_leaves(packet, bytes);
}

}  // namespace tandem_opencl
