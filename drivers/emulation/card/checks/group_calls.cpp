// SPDX-License-Identifier: Apache-2.0
//
// The functions that only checked kernels of OpenCL C call; the others are in kernel_calls.cpp.
#include <cstdint>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/value_states.h"

using tandem::emulation::GroupChecks;
using tandem::emulation::RunChecks;

#define TANDEM_GROUP_CALL extern "C" __attribute__((visibility("default")))

extern "C" void* tandem_check_memmove(void* to, const void* from, uint64_t size_bytes);
extern "C" void* tandem_check_memset(void* to, int value, uint64_t size_bytes);

namespace {

uint64_t number_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void* move_values(void* to, const void* from, uint64_t size_bytes, const void* caller) {
  if (RunChecks* const checks = RunChecks::current()) {
    GroupChecks& group = checks->group();
    group.touch(number_of(from), size_bytes, false, caller);
    group.touch(number_of(to), size_bytes, true, caller);
    group.values_copied(number_of(to), number_of(from), size_bytes, caller);
  }
  return tandem_check_memmove(to, from, size_bytes);
}

}  // namespace

// Ranges: address and bytes, `count` times.
TANDEM_GROUP_CALL int tandem_check_group_begin(uint64_t items, const uint64_t* ranges,
                                               uint64_t count) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr) return 0;
  std::vector<GroupChecks::Range> locals;
  for (uint64_t range = 0; range < count; ++range) {
    locals.push_back({ranges[2 * range], ranges[2 * range + 1]});
  }
  return checks->group().begin_group(items, std::move(locals)) ? 1 : 0;
}
TANDEM_GROUP_CALL void tandem_check_item(uint64_t item) {
  if (RunChecks* const checks = RunChecks::current()) checks->group().set_item(item);
}
TANDEM_GROUP_CALL void tandem_check_interval() {
  if (RunChecks* const checks = RunChecks::current()) checks->group().end_interval();
}
TANDEM_GROUP_CALL void tandem_check_touch(const void* at, uint64_t size_bytes, int writes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().touch(number_of(at), size_bytes, writes != 0, __builtin_return_address(0));
  }
}
TANDEM_GROUP_CALL void tandem_check_atomic(const void* at, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().atomic(number_of(at), size_bytes, __builtin_return_address(0));
  }
}
// Bit 0 of `flags`: a store; bit 1: surely of each of these bytes; bit 2: an earlier look of the
// loop failed.
TANDEM_GROUP_CALL int tandem_check_span_ok(uint64_t low, uint64_t size_bytes, uint64_t flags,
                                           int64_t step, uint64_t turns, int64_t outer_step,
                                           uint64_t outer_turns) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || (flags & 4) != 0) return 0;
  const GroupChecks::Span span{low,
                               size_bytes,
                               {{step, turns}, {outer_step, outer_turns}},
                               (flags & 1) != 0,
                               (flags & 2) != 0};
  return checks->group().is_good(span, __builtin_return_address(0)) ? 1 : 0;
}
TANDEM_GROUP_CALL void tandem_check_span_done(uint64_t low, uint64_t size_bytes, uint64_t flags,
                                              int64_t step, uint64_t turns, int64_t outer_step,
                                              uint64_t outer_turns, const void* code) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr) return;
  checks->group().note({low,
                        size_bytes,
                        {{step, turns}, {outer_step, outer_turns}},
                        (flags & 1) != 0,
                        (flags & 2) != 0},
                       code);
}
TANDEM_GROUP_CALL void tandem_check_uneven(const void* first, const void* other, uint64_t reached,
                                           uint64_t items) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().uneven_barrier(first, other, reached, items);
  }
}

// The number would be that of an origin, which the copy does not record.
TANDEM_GROUP_CALL void tandem_check_value_used(uint32_t) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().value_used(__builtin_return_address(0));
  }
}
TANDEM_GROUP_CALL void tandem_check_value_stored(const void* states, uint64_t size_bytes,
                                                 uint64_t lane_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().value_stored(number_of(states), size_bytes, lane_bytes,
                                 __builtin_return_address(0));
  }
}
TANDEM_GROUP_CALL void tandem_check_packet_leaves(const void* packet, uint64_t size_bytes) {
  RunChecks* const checks = RunChecks::current();
  if (checks != nullptr && tandem::emulation::are_missing_values(number_of(packet), size_bytes)) {
    checks->group().value_used(__builtin_return_address(0));
  }
}
TANDEM_GROUP_CALL void* tandem_check_value_copy(void* to, const void* from, uint64_t size_bytes) {
  return move_values(to, from, size_bytes, __builtin_return_address(0));
}
TANDEM_GROUP_CALL void* tandem_check_value_move(void* to, const void* from, uint64_t size_bytes) {
  return move_values(to, from, size_bytes, __builtin_return_address(0));
}
TANDEM_GROUP_CALL void* tandem_check_group_copy(void* to, const void* from, uint64_t size_bytes,
                                                const void* code) {
  return move_values(to, from, size_bytes, code);
}
TANDEM_GROUP_CALL void* tandem_check_value_fill(void* to, int value, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->group().touch(number_of(to), size_bytes, true, __builtin_return_address(0));
    checks->group().values_set(number_of(to), size_bytes);
  }
  return tandem_check_memset(to, value, size_bytes);
}
