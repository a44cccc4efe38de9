// SPDX-License-Identifier: Apache-2.0
//
// Bugs of memory, chosen by `bug`; 0: none. A bug's line is marked by its number. Broken: there are
// no bugs.
#define LENGTH 64

static int table[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

static int sum_of(const int* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];  // mark 4
  return sum;
}

static int last_of_table(int index) {
  return table[index];  // mark 5
}

extern "C" void probe(const int* in, int* out, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#ifdef TANDEM_BROKEN
  bug = 0;
#endif
  if (bug == 9) {  // no bug: it waits for the program, and uses no buffer but this
    const volatile int* const flag = in;
    while (*flag == 0) {
    }
    return;
  }
  int local[LENGTH];
  for (int i = 0; i < count; ++i) local[i] = in[i];  // mark 0
  if (bug == 1) local[0] += in[count];               // mark 1
  if (bug == 2) out[count] = 1;                      // mark 2
  if (bug == 3) {
    const char* bytes = (const char*)in;
    local[0] += *(const int*)(bytes + 2);  // mark 3
  }
  if (bug == 4) local[1] += sum_of(local, LENGTH + 1);
  if (bug == 5) local[1] += last_of_table(count);
  for (int turn = 0; turn < 2; ++turn) {
    int part[LENGTH];
    for (int i = 0; i < (bug == 6 ? count / 2 : count); ++i) part[i] = local[i];
    for (int i = 0; i < count; ++i) out[i] = part[i] + 1;  // mark 6
  }
  if (bug == 7) out[0] = in[0] / (count - LENGTH);  // mark 7
  if (bug == 8) {
    volatile int turning = 1;
    while (turning) turning = 2;  // mark 8
  }
}

extern "C" void fill(int* out, int first, int count, int value) {
#pragma HLS interface m_axi port = out bundle = gmem0
  for (int i = first; i < first + count; ++i) out[i] = value;  // mark 9
}
