// SPDX-License-Identifier: Apache-2.0
//
// Functions that g++ compiles with the plugin; missing_values_test.cpp runs them.
#include "missing.h"

#include <algorithm>
#include <cmath>

void add_one(const int* in, int* out) { out[0] = in[0] + 1; }

void chosen(const int* in, int* out, bool first) {
  const int value = in[0];
  out[0] = first ? value : 7;
}

int used_later(const int* in, bool looks) {
  const int value = in[0];
  if (!looks) return 0;
  return value > 3 ? 1 : 2;
}

void used_at_once(const int* in, int* out) {
  for (int at = in[0] - 4; at >= 0; at -= 8) out[0] = 1;
}

void add_all(const int* in, int* out, int count) {
  int sum = 0;
  for (int at = 0; at < count; ++at) sum += in[at];
  out[0] = sum;
}

void add_two(const int* in, const int* more, int* out) { out[0] = in[0] * more[0]; }

void set_in_one_case(int* out, int which) {
  int value;
  if (which == 1) value = 4;
  const int copy = value;
  const int next = copy + 1;  // the first that computes with it
  out[0] = next;
}

int least(const int* in, int count) {
  int found;
  for (int at = 0; at < count; ++at) {
    const int value = in[at];
    const bool is_first = at == 0;
    if (is_first || value < found) found = value;
  }
  return count == 0 ? 0 : found;
}

int unset_bound(const int* in, bool bad) {
  int bound, sum = 0;
  if (!bad) bound = 3;
  for (int at = 0; at < bound && at < 8; ++at) sum += in[at];  // a use
  return sum;
}

void copy_record(const Record* from, Record* to) { *to = *from; }

void read_and_store(int* values) {
  const int value = values[0];
  values[0] = value + 1;
}

float mantissa(float value, int* exponent) { return std::frexp(value, exponent); }

// g++ knows from the read that the address is right.
int exchange(int* values, int next) {
  const int before = values[0];
  if (next > 0) {
    values[0] = next;
  } else {
    values[0] = 7;
    values[1] = next;
  }
  return before;
}

void mask(const int* in, const int* more, int* out) { out[0] = in[0] & more[0]; }

void add_if(const int* in, const int* more, int* out) { out[0] = in[0] * (more[0] > 0); }

void either(const int* in, const int* more, int* out) { out[0] = (in[0] > 3) | (more[0] > 0); }

void choose_by_branch(const int* in, const int* more, int* out) {
  int value = more[0];
  const int limit = more[1];
  if (in[0] > 3) value = limit;
  out[0] = value;
}

void greatest(const int* in, int count, int* out) {
  for (int at = 0; at < count; ++at) out[0] = std::max(out[0], in[at]);
}

void keep_greatest(const int* in, const int* more, int* out) {
  const int unused = std::max(in[0], more[0]);
  out[0] = more[1] > 0 ? unused : 0;
}

unsigned shift_in(const int* bytes, int count) {
  unsigned word;
  for (int at = 0; at < count; ++at) word = word << 8 | (bytes[at] & 255);
  return word;
}

void shift_into(const int* bytes, int* word) {
  *word = static_cast<unsigned>(*word) << 8 | (bytes[0] & 255);
}

void shift_and_join(const int* in, const int* more, int* out) { out[0] = in[0] << 8 | more[0]; }

// v++ announces the first store.
void move_up(int (*lines)[8], int column, int next, int* out) {
  out[0] = lines[0][column] + lines[1][column];
  tandem_stored(&lines[0][column], sizeof(int));
  lines[0][column] = lines[1][column];
  lines[1][column] = next;
}

// The checks of the references stand in the branches.
static void put_in_order(int& low, int& high) {
  const int least = low < high ? low : high;
  high = low < high ? high : low;
  low = least;
}

void order(const int* in, const int* more, int* out) {
  int pair[2] = {in[0], more[0]};
  put_in_order(pair[0], pair[1]);
  out[0] = pair[0];
  out[1] = pair[1];
}

void middle(const int* in, const int* more, int* out) {
  const int a = in[0], b = more[0], c = more[1];
  const int found = a < b ? (b < c ? b : (a < c ? c * 3 : a * 5)) : (a < c ? a * 7 : c * 9);
  out[0] = more[2] > 0 ? found : 0;
}

// The way to "no" is shared by both conditions.
void is_peak(const int* in, const int* more, int* out) {
  const int before = more[0], value = in[0], after = more[1];
  const bool found = before < 100 && value >= after;
  out[0] = more[2] > 0 ? found + 2 : 0;
}

void by_switch(const int* in, const int* more, int* out) {
  int value;
  switch (in[0]) {
    case 1:
      value = more[0] * 3;
      break;
    case 5:
      value = more[0] + 8;
      break;
    case 9:
      value = more[0] - more[1];
      break;
    default:
      value = more[1];
  }
  out[0] = more[2] > 0 ? value : 0;
}

void root(const int* in, const int* more, int* out) {
  const float value = std::sqrt(static_cast<float>(in[0]));
  out[0] = more[2] > 0 ? static_cast<int>(value) : 0;
}

void exchange_if(const int* in, int* pair) {
  if (in[0] > 5) {
    pair[0] = 11;
    pair[1] = 12;
  }
}

void look_up(const int* in, const int* more, int* out) {
  static const int table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const int value = table[in[0]];
  out[0] = more[2] > 0 ? value : 0;
}

void copy_and_clear(Record* from, Record* to, const Record* none) {
  *to = *from;
  if (to->words[0] > 0) *from = *none;
}

struct Header {
  unsigned kind : 4, length : 7, has_more : 1, more : 20;
};
int length_of(int kind, bool has_more) {
  Header header;
  header.kind = kind;
  header.length = 9;
  header.has_more = has_more;
  if (header.has_more) header.more = 100;
  return header.length + (header.has_more ? header.more : 0);
}

void greatest_of_three(const int* in, const int* more, int* out) {
  const int& found = std::max(more[1], std::max(in[0], more[0]));
  out[0] = more[2] > 0 ? found : 0;
}

// Like a function with several callers.
__attribute__((noinline)) static int weighted(int value, int weight) {
  int sum = 0;
  for (int at = 0; at < 2; ++at) sum += value * weight + at;
  return sum;
}

void by_call(const int* in, const int* more, int* out) {
  const int found = weighted(in[0], more[0]);
  out[0] = more[2] > 0 ? found : 0;
}

void choose_by_call(const int* in, const int* more, int* out) {
  int found = more[1];
  if (in[0] > 3) found = weighted(more[0], found);
  out[0] = more[2] > 0 ? found : 0;
}

void choose_least(const int* in, const int* more, int* out) {
  int found = more[1];
  if (in[0] > 3) found = std::min(50, more[0]);
  out[0] = more[2] > 0 ? found : 0;
}

__attribute__((noinline)) static int count_up(int value, int* counter) {
  counter[0] += value;
  return 1;
}

void call_that_stores(const int* in, int* out) { out[1] = count_up(in[0], out); }

// The first turn does not use what it reads of `last`; g++ knows that once it has written all turns
// out.
void add_turns(const int* in, int* out) {
  int sum = in[0], other = in[1];
  out[1] = std::max(sum, other);
  sum = in[2];
  {
    Turn last;
    for (int at = 0; at < 4; ++at) {
      const Turn one = last;
      if (at > 0) sum += one.value + one.number;
      last.value = other ^ sum;
      last.number = at;
    }
  }
  out[0] = sum;
}
