// SPDX-License-Identifier: Apache-2.0
//
// What the look before a loop of a checked OpenCL C kernel calls, besides the card
// (opencl_c/loops/look_before.h). A number of a loop is `low + step * turn`, for up to two loops
// that go back `turns` times. C++14.
#pragma once

extern "C" {
void tandem_check_span_done(unsigned long low, unsigned long bytes, unsigned long flags, long step,
                            unsigned long turns, long outer_step, unsigned long outer_turns,
                            void* code);

// Whether several items run that may share memory.
extern int tandem_cl_shares;

// Whether the number stays in [0, bound).
int tandem_cl_stays_below(long low, long bound, long step, unsigned long turns, long outer_step,
                          unsigned long outer_turns) {
  const long most = 1l << 31;
  const long steps[] = {step, outer_step};
  const unsigned long counts[] = {turns, outer_turns};
  if (low < 0 || low >= bound) return 0;
  long least = low, greatest = low;
  for (int loop = 0; loop < 2; ++loop) {
    if (steps[loop] == 0 || counts[loop] == 0) continue;
    const bool is_far = steps[loop] >= most || steps[loop] <= -most;
    if (is_far || counts[loop] >= static_cast<unsigned long>(most)) return 0;
    const long change = steps[loop] * static_cast<long>(counts[loop]);
    change < 0 ? least += change : greatest += change;
  }
  return least >= 0 && greatest < bound ? 1 : 0;
}

// Reads matter only to other items.
void tandem_cl_span_done(unsigned long low, unsigned long bytes, unsigned long flags, long step,
                         unsigned long turns, long outer_step, unsigned long outer_turns) {
  if ((flags & 1) == 0 && tandem_cl_shares == 0) return;
  tandem_check_span_done(low, bytes, flags, step, turns, outer_step, outer_turns,
                         __builtin_return_address(0));
}
}
