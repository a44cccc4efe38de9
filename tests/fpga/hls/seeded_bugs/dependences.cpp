// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of `dependence` pragmas, which do not hold for the values of a bug; see bugs.h. The
// mark is at the access that disproves the pragma.
#include <ap_int.h>

#include "bugs.h"

namespace {

constexpr int kBins = 64;

void histogram(const int* in, int* out, int*, int count, bool bad) {
  int bins[kBins] = {};
  for (int i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
#pragma HLS dependence variable = bins inter false
    const int bin = bad ? in[i] / 2 : in[i];
    bins[bin] = bins[bin] + 1;  // bug histogram
  }
  for (int i = 0; i < kBins; ++i) out[i] = bins[i];
}

void running_sum_in_memory(const int* in, int* out, int*, int count, bool bad) {
  out[0] = in[0];
  for (int i = 1; i < count; ++i) {
#pragma HLS dependence variable = out type = inter direction = RAW dependent = false
    const int before = bad ? out[i - 1] : in[i - 1];  // bug running_sum_in_memory
    out[i] = before + in[i];
  }
}

void distance_is_two(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins] = {};
  const int step = bad ? 2 : 4;
loop_of_distances:
  for (int i = step; i < count; ++i) {
#pragma HLS DEPENDENCE variable = values inter RAW distance = 4 true
    values[i] = values[i - step] + in[i];  // bug distance_is_two
  }
  out[0] = values[count - 1];
}

void pragma_of_function(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins] = {};
#pragma HLS dependence variable = values inter RAW false
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 1; i < count; ++i) {
      values[i] = in[i] + values[bad ? i - 1 : i];  // bug pragma_of_function
    }
  }
  out[0] = values[count - 1];
}

void write_after_write(const int* in, int* out, int*, int count, bool bad) {
  int i = 0;
  do {
#pragma HLS dependence variable = out inter WAW false
    out[bad ? i / 2 : i] = in[i];  // bug write_after_write
    ++i;
  } while (i < count);
}

void write_after_read(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins + 1] = {};
  for (int i = 0; i < count; ++i) {
#pragma HLS dependence variable = values inter false
    const int next = values[bad ? i + 1 : i];
    values[i] = next + in[i];  // bug write_after_read
  }
  out[0] = values[3];
}

void inside_iteration(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins] = {};
  for (int i = 0; i + 1 < count; ++i) {
#pragma HLS dependence variable = values intra RAW false
    values[in[i]] = i;
    out[i] = values[in[bad ? i : i + 1]];  // bug inside_iteration
  }
}

void while_loop(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins] = {};
  int i = 0;
  if (count > 0)
    while (i + 1 < count) {
#pragma HLS dependence variable = values inter RAW false
      if (bad && i > 0) out[i] = values[i - 1];  // bug while_loop
      values[i] = in[i];
      ++i;
    }
  else
    out[0] = 0;
}

void partial_sums(const int* in, int* out, int*, int count, bool bad) {
  int parts[kBins] = {};
  const int num_parts = bad ? 8 : kBins;
  for (int i = 0; i < count; ++i) {
#pragma HLS dependence variable = parts false
    parts[i % num_parts] += in[i];  // bug partial_sums
  }
  out[0] = parts[0];
}

void move_up(int* values, int count, bool bad) {
  for (int i = 1; i < count; ++i) {
#pragma HLS dependence variable = values inter RAW false
    const int before = values[bad ? i - 1 : i];  // bug helper_with_pointer
    values[i] = before + 1;
  }
}

void helper_with_pointer(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins];
  for (int i = 0; i < count; ++i) values[i] = in[i];
  move_up(values, count, bad);
  out[0] = values[count - 1];
}

void same_buffer_twice(const int* in, int* out, int* scratch, int count, bool bad) {
  const int* const from = bad ? scratch : in;
  scratch[0] = 0;
  for (int i = 1; i < count; ++i) {
#pragma HLS dependence variable = scratch inter false
    scratch[i] = from[i - 1] + 1;  // bug same_buffer_twice
  }
  out[0] = scratch[count - 1];
}

// Only the order that the pragma names counts.
void only_raw(const int* in, int* out, int*, int count, bool bad) {
  int values[kBins + 1] = {};
  for (int i = 1; i < count; ++i) {
#pragma HLS dependence variable = values inter RAW false
    const int other = values[bad ? i - 1 : i + 1];  // bug only_raw
    values[i] = other + in[i];
  }
  out[0] = values[3];
}

void shift(const int* __restrict from, int* __restrict to, int count) {
  for (int i = 1; i < count; ++i) {
    to[i] = from[i - 1] + 1;  // bug restrict_pointers
  }
}

void restrict_pointers(const int* in, int* out, int* scratch, int count, bool bad) {
  for (int i = 0; i < count; ++i) scratch[i] = in[i];
  shift(bad ? scratch : in, scratch, count);
  out[0] = scratch[count - 1];
}

// A type of the HLS headers changes its own words.
void wide_bins(const int* in, int* out, int*, int count, bool bad) {
  ap_uint<24> bins[kBins];
  for (int i = 0; i < kBins; ++i) bins[i] = 0;
  const int num_bins = bad ? kBins / 4 : kBins;
  for (int i = 0; i < count; ++i) {
#pragma HLS dependence variable = bins inter RAW false
    bins[in[i] % num_bins] += 1;  // bug wide_bins
  }
  out[0] = bins[1];
}

// Twin: the sums are as far apart as no pipeline is long, which is what the pragma is used for.
void too_few_sums(const int* in, int* out, int*, int count, bool bad) {
  int parts[kBins] = {};
  const int num_parts = bad ? kBins - 1 : kBins;
  for (int i = 0; i < 4 * count; ++i) {
#pragma HLS dependence variable = parts inter false
    parts[i % num_parts] += in[i % count];  // bug too_few_sums
  }
  out[0] = parts[0];
}

// Twin: each value takes the place of what it was made from, so no order can be wrong.
void add_to(const int* __restrict from, int* __restrict to, int count, int before) {
  for (int i = 1; i < count; ++i) {
    to[i] = from[i - before] + 1;  // bug changes_in_place
  }
}

void changes_in_place(const int* in, int* out, int* scratch, int count, bool bad) {
  for (int i = 0; i < count; ++i) scratch[i] = in[i];
  add_to(scratch, scratch, count, bad ? 1 : 0);
  out[0] = scratch[count - 1];
}

// The element is read and stored by two statements.
void read_before_store(const int* in, int* out, int*, int count, bool bad) {
  int bins[kBins] = {};
  for (int i = 0; i < count; ++i) {
#pragma HLS dependence variable = bins inter RAW false
    const int bin = bad ? in[i] / 3 : in[i];
    const int value = bins[bin];  // bug read_before_store
    bins[bin] = value + 1;
  }
  out[0] = bins[3];
}

}  // namespace

extern "C" void dependence_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_DEPENDENCE_BUGS)
}
