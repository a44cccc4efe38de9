// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of values that are missing where they only choose: between other values, elements of
// arrays, or what is stored to local variables. The twins use nothing of that; see bugs.h.
#include <ap_fixed.h>
#include <ap_int.h>

#include <algorithm>
#include <cmath>

#include "bugs.h"

namespace {

using Level = ap_fixed<12, 6, AP_RND_CONV, AP_SAT>;

struct Header {
  unsigned kind : 4, length : 7, has_more : 1, more : 20;
};

struct List {
  int count;
  int values[8];
};

List with(List list, int value) {
  if (list.count < 8) list.values[list.count++] = value;
  return list;
}

void median_of_five(const int* in, int* out, int*, int count, bool bad) {
  int window[5];
  for (int i = 0; i < count; ++i) {
    for (int at = 4; at > 0; --at) window[at] = window[at - 1];  // bug median_of_five
    window[0] = in[i];
    int sorted[5];
    for (int at = 0; at < 5; ++at) sorted[at] = window[at];
    for (int round = 0; round < 5; ++round) {
      for (int at = 0; at < 4; ++at) {
        if (sorted[at] > sorted[at + 1]) std::swap(sorted[at], sorted[at + 1]);
      }
    }
    if (i >= (bad ? 3 : 4)) out[i] = sorted[2];
  }
}

// Whole numbers are exchanged.
void numbers_in_order(const int* in, int* out, int*, int count, bool bad) {
  ap_uint<12> window[4];
  for (int i = 0; i < count; ++i) {
    for (int at = 3; at > 0; --at) window[at] = window[at - 1];
    window[0] = in[i];
    ap_uint<12> row[4];
    for (int at = 0; at < 4; ++at) row[at] = window[at];
    for (int round = 0; round < 4; ++round) {
      for (int at = 0; at < 3; ++at) {
        if (row[at] > row[at + 1]) std::swap(row[at], row[at + 1]);
      }
    }
    if (i >= (bad ? 2 : 3)) out[i] = row[2].to_int();  // bug numbers_in_order
  }
}

void peak_of_three(const int* in, int* out, int*, int count, bool bad) {
  int first, second;
  for (int i = 0; i < count; ++i) {
    const int third = in[i];
    const bool is_peak = second > first && second >= third;  // bug peak_of_three
    if (i >= (bad ? 0 : 2)) out[i] = is_peak;
    first = second;
    second = third;
  }
}

void levels_round(const int* in, int* out, int*, int count, bool bad) {
  Level before;
  for (int i = 0; i < count; ++i) {
    const Level now = in[i] & 15;
    Level half = before / 2 + now, most = half > before ? half : before;  // bug levels_round
    const float root = std::sqrt(std::fabs(most.to_float()));
    before = now;
    if (i >= (bad ? 0 : 1)) out[i] = most.to_int() + static_cast<int>(root);
  }
}

void table_of_last(const int* in, int* out, int*, int count, bool bad) {
  int table[16];
  for (int i = 0; i < 16; ++i) table[i] = i * i;
  ap_uint<4> last;
  for (int i = 0; i < count; ++i) {
    const int square = table[last];  // bug table_of_last
    last = in[i];
    if (i >= (bad ? 0 : 1)) out[i] = square;
  }
}

void bits_go_round(const int* in, int* out, int*, int count, bool bad) {
  ap_uint<4> state;
  for (int i = 0; i < count; ++i) {
    const ap_uint<1> next = state[3] ^ state[2];  // bug bits_go_round
    if (i == (bad ? -1 : 0)) {
      state = 9;
    } else {
      state = (state << 1) | next;
    }
    out[i] = in[i] + next * (i > 0);
    if (state > 12) out[i] += 1;
  }
}

void header_has_no_more(const int* in, int* out, int*, int count, bool bad) {
  for (int i = 0; i < count; ++i) {
    Header header;
    header.kind = in[i];
    header.length = i;
    header.has_more = in[i] & 1;
    if (header.has_more && !bad) header.more = i * 3;
    const int more = header.has_more ? header.more : 0;
    out[i] = header.kind + header.length + more;  // bug header_has_no_more
  }
}

void list_by_value(const int* in, int* out, int*, int, bool bad) {
  List list;
  int rest;
  if (!bad) rest = 0;
  list.count = 0;
  for (int i = 0; i < 5; ++i) list = with(list, in[i]);
  for (int i = 0; i < list.count; ++i) out[i] = list.values[i];
  out[8] = rest;  // bug list_by_value
}

}  // namespace

extern "C" void choice_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_CHOICE_BUGS)
}
