// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs that end a kernel or never do, and kernels for two units or for a program that does
// something during a run; see bugs.h.
#include "bugs.h"

namespace {

void divides_by_zero(const int* in, int* out, int*, int count, bool bad) {
  out[0] = count / (bad ? in[0] : in[1]);  // bug divides_by_zero
}

void remainder_of_zero(const int* in, int* out, int*, int count, bool bad) {
  out[0] = count % (bad ? in[0] : in[1]);  // bug remainder_of_zero
}

void divides_long(const int* in, int* out, int*, int count, bool bad) {
  const long divisor = in[bad ? 0 : 2];
  for (int i = 0; i < count; ++i) out[i] = static_cast<int>(1000L / divisor);  // bug divides_long
}

void turns_for_ever(const int* in, int* out, int*, int, bool bad) {
  volatile int state = in[1];
  while (state == 1) state = bad ? 1 : 2;  // bug turns_for_ever
  out[0] = state;
}

void counter_wraps(const int* in, int* out, int*, int, bool bad) {
  volatile int limit = bad ? 256 : 255;
  int sum = 0;
  for (unsigned char i = 0; i < limit; ++i) sum += in[i % 4];  // bug counter_wraps
  out[0] = sum;
}

}  // namespace

extern "C" void end_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_END_BUGS)
}

// Adds the word at `read` to `count` words from `first` on.
extern "C" void fill(int* out, int first, int count, int read) {
#pragma HLS interface m_axi port = out bundle = gmem0
  const int value = out[read];
  for (int i = first; i < first + count; ++i) out[i] += value + 1;
}

// Ends once the program has opened the gate. Leaves `out` alone if `value` is 0.
extern "C" void waits(const int* gate, int* out, int value) {
#pragma HLS interface m_axi port = gate bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
  while (*static_cast<const volatile int*>(gate) == 0) {
  }
  if (value != 0) out[0] = value;
}
