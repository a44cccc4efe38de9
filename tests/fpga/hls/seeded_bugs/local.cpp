// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of local arrays and variables; see bugs.h.
#include <cstring>

#include "bugs.h"

namespace {

constexpr int kLength = 16;

int table[kLength] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
int sums[kLength];

struct Pair {
  int first[4];
  int second[4];
};

void index_is_length(const int* in, int* out, int*, int, bool bad) {
  int values[kLength];
  const int end = bad ? kLength + 1 : kLength;
  for (int i = 0; i < end; ++i) values[i] = in[i];  // bug index_is_length
  out[0] = values[kLength - 1];
}

void index_is_negative(const int* in, int* out, int*, int, bool bad) {
  int values[kLength] = {};
  for (int i = 0; i < kLength; ++i) values[i] = in[i];
  int at = kLength - 1;
  int sum = 0;
  while (at >= (bad ? -1 : 0)) sum += values[at--];  // bug index_is_negative
  out[0] = sum;
}

void inner_index_is_width(const int* in, int* out, int*, int, bool bad) {
  int grid[4][4] = {};
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < (row < 3 && bad ? 5 : 4); ++column) {
      grid[row][column] = in[column];  // bug inner_index_is_width
    }
  }
  out[0] = grid[3][3];
}

void table_index(const int* in, int* out, int*, int, bool bad) {
  out[0] = table[in[bad ? 40 : 4]];  // bug table_index
}

int sum_of(const int* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];  // bug helper_overruns
  return sum;
}

void helper_overruns(const int* in, int* out, int*, int, bool bad) {
  int values[kLength];
  for (int i = 0; i < kLength; ++i) values[i] = in[i];
  out[0] = sum_of(values, bad ? kLength + 1 : kLength);
}

void member_overruns(const int* in, int* out, int*, int, bool bad) {
  Pair pair = {};
  for (int i = 0; i < (bad ? 5 : 4); ++i) pair.first[i] = in[i];  // bug member_overruns
  out[0] = pair.first[0] + pair.second[0];
}

void copy_overruns(const int* in, int* out, int*, int, bool bad) {
  int values[kLength];
  std::memcpy(values, in, sizeof(values) + (bad ? 4 : 0));  // bug copy_overruns
  out[0] = values[0];
}

void fill_overruns(const int*, int* out, int*, int count, bool bad) {
  int values[kLength];
  std::memset(values, 0, static_cast<unsigned>(bad ? count * 2 : count));  // bug fill_overruns
  out[0] = values[0];
}

void scope_has_ended(const int* in, int* out, int*, int, bool bad) {
  int kept[4] = {};
  const int* at = kept;
  for (int turn = 0; turn < 2; ++turn) {
    int inner[4];
    for (int i = 0; i < 4; ++i) inner[i] = in[i];
    if (bad) at = inner;
    out[turn] = inner[turn];
  }
  out[2] = at[1];  // bug scope_has_ended
}

void window_reaches_out(const int* in, int* out, int*, int, bool bad) {
  int line[kLength];
  for (int i = 0; i < kLength; ++i) line[i] = in[i];
  const int end = bad ? kLength : kLength - 1;
  for (int i = 1; i < end; ++i) {
    int sum = 0;
    for (int offset = -1; offset <= 1; ++offset) sum += line[i + offset];  // bug window_reaches_out
    out[i] = sum;
  }
}

void global_overruns(const int* in, int* out, int*, int, bool bad) {
  int* const all = sums;
  for (int i = 0; i < (bad ? kLength + 2 : kLength); ++i) all[i] = in[i];  // bug global_overruns
  out[0] = sums[1];
}

void half_is_initialised(const int* in, int* out, int*, int, bool bad) {
  for (int turn = 0; turn < 2; ++turn) {
    int values[kLength];
    for (int i = 0; i < (bad ? kLength / 2 : kLength); ++i) values[i] = in[i];
    for (int i = 0; i < kLength; ++i) out[i] = values[i];  // bug half_is_initialised
  }
}

void sums_are_not_zeroed(const int* in, int* out, int*, int count, bool bad) {
  for (int turn = 0; turn < 2; ++turn) {
    int parts[4];
    for (int i = 0; i < 4 && !bad; ++i) parts[i] = 0;
    for (int i = 0; i < count; ++i) parts[i % 4] += in[i];  // bug sums_are_not_zeroed
    for (int i = 0; i < 4; ++i) out[i] = parts[i];
  }
}

void border_is_not_set(const int* in, int* out, int*, int, bool bad) {
  for (int turn = 0; turn < 2; ++turn) {
    int grid[6][6];
    const int margin = bad ? 1 : 0;
    for (int row = margin; row < 6 - margin; ++row) {
      for (int column = margin; column < 6 - margin; ++column) grid[row][column] = in[column];
    }
    int sum = 0;
    for (int row = 0; row < 6; ++row) sum += grid[row][row];  // bug border_is_not_set
    out[turn] = sum;
  }
}

void field_is_not_set(const int* in, int* out, int*, int, bool bad) {
  for (int turn = 0; turn < 2; ++turn) {
    Pair pairs[2];
    for (int i = 0; i < 4; ++i) {
      pairs[turn].first[i] = in[i];
      if (!bad) pairs[turn].second[i] = in[i];
    }
    out[turn] = pairs[turn].first[turn];
    out[turn + 2] = pairs[turn].second[in[1]];  // bug field_is_not_set
  }
}

void last_is_not_set(const int* in, int* out, int*, int, bool bad) {
  for (int turn = 0; turn < 2; ++turn) {
    int shift[8];
    for (int i = 0; i < (bad ? 7 : 8); ++i) shift[i] = in[i];
    for (int i = 0; i < 7; ++i) shift[i] = shift[i + 1];  // bug last_is_not_set
    out[turn] = shift[6];
  }
}

void branch_is_not_set(const int* in, int* out, int*, int count, bool bad) {
  for (int i = 0; i < count; ++i) {
    int value[2];
    if (in[i] != 7 || !bad) value[in[1]] = in[i];
    out[i] = value[in[1]];  // bug branch_is_not_set
  }
}

void heap_of_bins_overruns(const int* in, int* out, int*, int count, bool bad) {
  int bins[kLength] = {};
  const int limit = bad ? kLength : kLength - 1;
  for (int i = 0; i < count; ++i) {
    const int bin = in[i] < limit ? in[i] : limit;
    bins[bin] += 1;  // bug heap_of_bins_overruns
  }
  out[0] = bins[0];
}

}  // namespace

extern "C" void local_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_LOCAL_BUGS)
}
