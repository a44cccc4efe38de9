// SPDX-License-Identifier: Apache-2.0
//
// Functions that g++ compiles with the plugin; missing_choices_test.cpp and missing_parts_test.cpp
// run them.
#include "missing_more.h"

#include <cstring>

#include "outside.h"

void if_valid(const int* in, const int* more, int* out) {
  if (in[0] == 4 && more[0] > 0) out[0] = 1;
}

void if_known_valid(const int* in, const int* more, int* out) {
  const int valid = more[0];
  out[1] = valid;
  if (in[0] == 4 && valid > 0) out[0] += 1;
}

void unless_invalid(const int* in, const int* more, int* out) {
  if (in[0] != 4 || more[0] <= 0) return;
  out[0] = 1;
  out[1] += 1;
}

void if_all(const int* in, const int* more, int* out) {
  if (in[0] == 4 && more[0] > 0 && more[1] < 9) out[0] += 1;
}

void found_and_valid(const int* in, const int* more, int* out) {
  const bool found = in[0] == 4 && more[0] > 0;
  if (found) out[0] += 1;
}

void store_between(const int* in, const int* more, int* out) {
  if (in[0] == 4) {
    out[1] += 1;
    if (more[0] > 0) out[0] += 1;
  }
}

void quotient_behind(const int* in, const int* more, int* out) {
  if (in[0] == 4 && 8 / more[0] > 2) out[0] += 1;
}

void other_store_behind(const int* in, const int* more, int* out) {
  if (in[0] == 4) {
    if (more[0] > 0) out[0] += 1;
  } else {
    out[1] += 1;
  }
}

int element_behind(const int* in, const int* more) {
  int values[4] = {in[1], in[2], in[3], in[4]}, count = 0;
  for (int at = 0; at < 4; ++at) values[more[at] & 3] += at;
  if (in[0] == 4 && values[more[0] & 3] > 100) count += more[1] / more[2];
  return count;
}

void weight(const int* in, int* out, int at) {
  static const int weights[4] = {3, 0, 1, 0};
  out[0] = in[0] * weights[at];
}

void scale(const int* in, const int* more, int* out) { out[0] = in[0] * more[0]; }

unsigned shift_right_in(const int* bytes, int count) {
  unsigned word;
  for (int at = 0; at < count; ++at) word = word >> 8 | static_cast<unsigned>(bytes[at]) << 24;
  return word;
}

void shift_right_into(const int* bytes, unsigned* word) {
  *word = *word >> 8 | static_cast<unsigned>(bytes[0]) << 24;
}

void shift_signed_into(const int* bytes, int* word) { *word = *word >> 8 | bytes[0] << 24; }

void scope_ends_in_branch(const int* in, const int* more, int* out) {
  int value = more[0];
  if (in[0] > 3) {
    int pair[2] = {more[0], more[1]};
    pair[more[1] & 1] = 7;
    value = pair[0] + pair[1];
  }
  out[0] = more[2] > 0 ? value : 0;
}

__attribute__((noinline)) static int scaled(int value, int weight) {
  int sum = value;
  for (int at = 0; at < weight; ++at) sum = sum * 3 + at;
  return sum;
}
__attribute__((noinline)) static int scaled_twice(int value, int weight) {
  return scaled(value, weight) - scaled(value + 1, weight);
}

void by_call_in_call(const int* in, const int* more, int* out) {
  const int found = scaled_twice(in[0], more[0]);
  out[0] = more[2] > 0 ? found : 0;
}

__attribute__((noinline)) static int halves(int value, int weight) {
  return value < 2 ? weight : halves(value / 2, weight + 1) * 3 + halves(value / 3, weight);
}

void by_recursion(const int* in, const int* more, int* out) {
  const int found = halves(in[0], more[0]);
  out[0] = more[2] > 0 ? found : 0;
}

__attribute__((noinline)) static int with_asm(int value) {
  asm volatile("" : : "r"(value));
  return value + 1;
}

void call_with_asm(const int* in, const int* more, int* out) {
  const int found = with_asm(in[0]);
  out[0] = more[2] > 0 ? found : 0;
}

void set_bits_if(const int* in, const int* more, int* out) {
  struct {
    unsigned kind : 4, length : 7, rest : 21;
  } header;
  header.kind = more[0];
  header.length = 2;
  if (in[0] > 3) header.length = 9;
  out[0] = header.length + header.kind;
}

void store_at_index(const int* in, const int* more, int* out) {
  if (in[0] > 3) out[more[1]] = 7;
}

void leading_zeros(const int* in, const int* more, int* out) {
  const unsigned bits = in[0];
  const int count = bits == 0 ? 32 : __builtin_clz(bits);
  out[0] = more[2] > 0 ? count : 0;
}

// Both stores stand in one block.
void store_in_own_branch(const int* in, int* out, int which) {
  int value;
  if (which == 1) value = in[0];
  int pair[2] = {in[1], in[2]};
  if (value > 5) {
    pair[0] = value;
    pair[1] = 11;
  }
  out[0] = pair[which & 1];
  out[1] = pair[1];
}

void store_outside(const int* in, int* out) {
  int values[6];
  set_outside(values + 2);
  out[0] = values[2] + in[0];
}

void store_text_outside(int* out) {
  char text[12];
  set_text_outside(text, 12);
  out[0] = text[3];
}

void store_in_other_file(int* out) { set_in_other_file(out); }

void store_behind(int* out) { set_outside(out); }

void read_outside(const int* in, int* out) {
  int values[4] = {in[0], in[1], in[2], in[3]};
  out[0] = sum_outside(values);
}

void copy_array_out(const int* in, int* out) {
  int values[6];
  for (int at = 0; at < 6; ++at) values[at] = in[at];
  std::memcpy(out, values, sizeof(values));
}

void copy_record_out(const int* in, int* out) {
  struct {
    char first;
    int second;
  } record;
  record.first = static_cast<char>(in[0]);
  record.second = in[1];
  std::memcpy(out, &record, sizeof(record));
}

void make_points(const float* real, const float* imaginary, std::complex<float>* points) {
  points[0] = std::complex<float>(real[0], imaginary[0]);
}

float imaginary_sum(const std::complex<float>* points, int count) {
  float sum = 0;
  for (int at = 0; at < count; ++at) sum += points[at].imag();
  return sum;
}

void add_points(const float* real, const float* imaginary, std::complex<float>* sum) {
  std::complex<float> all(0, 0);
  for (int at = 0; at < 4; ++at) all += std::complex<float>(real[at], imaginary[at]);
  *sum = all;
}
