// SPDX-License-Identifier: Apache-2.0
//
// Loops that g++ compiles with the plugin; loop_checks_test.cpp runs them.
#include "loops.h"

extern "C" __attribute__((nothrow)) void tandem_stored(const volatile void* at,
                                                       unsigned long size_bytes);

int sum(const int* in, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += in[at];
  return total;
}

void scale(const int* in, int* out, int count) {
  for (int at = 0; at < count; ++at) out[at] = 3 * in[at];
}

void backwards(int* out, int count) {
  for (int at = count - 1; at >= 0; --at) out[at] = at;
}

void every_third(int* out, int count) {
  for (int at = 0; at < count; ++at) out[3 * at] = at;
}

void positive_only(const int* in, int* out, int count) {
  for (int at = 0; at < count; ++at) {
    if (in[at] > 0) out[at] = in[at];
  }
}

int until_zero(const int* in, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) {
    if (in[at] == 0) break;
    total += in[at];
  }
  return total;
}

int neighbours(const int* in, int* out, int count) {
  for (int at = 1; at < count - 1; ++at) out[at] = in[at - 1] + in[at] + in[at + 1];
  return out[1];
}

void matrix(const int* in, int* out, int rows) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < 32; ++column) out[row * 32 + column] = in[row * 32 + column] + 1;
  }
}

void triangle(int* out, int rows) {
  for (int row = 8; row < rows; ++row) {
    for (int column = 0; column < row; ++column) out[row * 64 + column] = 1;
  }
}

int known_table[64] = {5};
int look_up(const int* in, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += known_table[in[at] & 63];
  return total;
}

int pick(const int (&table)[64], const int* in, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += table[in[at]];
  return total;
}

static inline __attribute__((always_inline)) int& stored(int& element) {
  tandem_stored(&element, sizeof(int));
  return element;
}
int known_bins[64] = {1};
void count_in(const int* in, int count) {
  for (int at = 0; at < count; ++at) stored(known_bins[in[at]]) += 1;
}

void read_and_write(int* values, int count) {
  for (int at = 0; at < count; ++at) {
    tandem_stored(&values[at], sizeof(int));
    values[at] += at;
  }
}

int other_call(int value);
void with_call(const int* in, int* out, int count) {
  for (int at = 0; at < count; ++at) out[at] = other_call(in[at]);
}

int gather(const int* in, const int* indices, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += in[indices[at]];
  return total;
}

void few(int* out) {
  for (int at = 0; at < 4; ++at) out[at] = at;
}

int scoped(const int* in, int count) {
  int total = 0;
  for (int begin = 0; begin < count; begin += 16) {
    int block[16];
    for (int at = 0; at < 16; ++at) block[at] = in[begin + at];
    for (int at = 0; at < 16; ++at) total += block[(total + at) & 15];
  }
  return total;
}

void until_column(int* out, int rows, long columns) {
  for (int row = 0; row < rows; ++row) {
    long column = 0;
    do {
      out[row * 512 + 2 * column] = 1;
    } while (++column < columns);
  }
}

int store_and_gather(int* values, const int* indices, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) {
    values[at] = at;
    total += values[indices[at]];
  }
  return total;
}

int two_of_four(const int* in, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += in[4 * at] + in[4 * at + 2];
  return total;
}

void publish(const std::atomic<long>& from, std::atomic<long>& to) {
  to.store(from.load(std::memory_order_relaxed), std::memory_order_release);
}

// Its 8 bytes may lie in two words of the map.
Pair copied(const Pair* pairs, int at) { return pairs[at]; }

// Some elements stay without a value.
int last_positive(const int* in, int count) {
  int kept[64];
  for (int at = 0; at < count; ++at) {
    if (in[at] > 0) kept[at] = in[at];
  }
  return kept[count - 1];
}
