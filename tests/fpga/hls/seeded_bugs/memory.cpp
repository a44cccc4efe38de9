// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of device memory; see bugs.h. Every buffer has `count` words.
#include <cstring>

#include "bugs.h"

namespace {

struct Wide {
  int words[16];
};

void reads_behind_end(const int* in, int* out, int*, int count, bool bad) {
  out[0] = in[bad ? count : count - 1];  // bug reads_behind_end
}

void writes_behind_end(const int*, int* out, int*, int count, bool bad) {
  out[bad ? count : count - 1] = 1;  // bug writes_behind_end
}

void loops_once_more(const int*, int* out, int*, int count, bool bad) {
  const int last = bad ? count : count - 1;
  for (int i = 0; i <= last; ++i) out[i] = i;  // bug loops_once_more
}

void doubles_its_stride(const int*, int* out, int*, int count, bool bad) {
  const int stride = bad ? 2 : 1;
  for (int i = 0; i < count; ++i) out[i * stride] = i;  // bug doubles_its_stride
}

void takes_wrong_width(const int* in, int* out, int*, int count, bool bad) {
  const int width = bad ? 9 : 8;
  int sum = 0;
  for (int row = 0; row < count / 8; ++row) sum += in[row * width + 7];  // bug takes_wrong_width
  out[0] = sum;
}

void copies_too_much_in(const int* in, int* out, int*, int count, bool bad) {
  int local[80];
  std::memcpy(local, in, (count + (bad ? 1 : 0)) * sizeof(int));  // bug copies_too_much_in
  out[0] = local[count - 1];
}

void copies_too_much_out(const int*, int* out, int*, int count, bool bad) {
  int local[80] = {};
  std::memcpy(out, local, (count + (bad ? 1 : 0)) * sizeof(int));  // bug copies_too_much_out
}

void reads_wide_across_end(const int* in, int* out, int*, int count, bool bad) {
  const Wide* const last = (const Wide*)(in + count - (bad ? 8 : 16));
  const Wide wide = *last;  // bug reads_wide_across_end
  for (int i = 0; i < 16; ++i) out[i] = wide.words[i];
}

void reads_before_begin(const int* in, int* out, int*, int, bool bad) {
  for (int i = 3; i >= (bad ? -1 : 0); --i) out[i + 1] = in[i];  // bug reads_before_begin
}

void misaligned_int(const int* in, int* out, int*, int, bool bad) {
  const char* const bytes = (const char*)in;
  out[0] = *(const int*)(bytes + (bad ? 2 : 4));  // bug misaligned_int
}

void misaligned_long(const int*, int* out, int*, int, bool bad) {
  char* const bytes = (char*)out;
  *(long*)(bytes + (bad ? 4 : 8)) = 1;  // bug misaligned_long
}

void misaligned_double(const int* in, int* out, int*, int, bool bad) {
  const char* const bytes = (const char*)in;
  out[0] = *(const double*)(bytes + (bad ? 12 : 16)) > 0;  // bug misaligned_double
}

void reads_unwritten(const int*, int* out, int* scratch, int, bool bad) {
  if (!bad) scratch[3] = 1;
  out[0] = scratch[3];  // bug reads_unwritten
}

void reads_unwritten_half(const int* in, int* out, int* scratch, int count, bool bad) {
  for (int i = 0; i < (bad ? count / 2 : count); ++i) scratch[i] = in[i];
  for (int i = 0; i < count; ++i) out[i] = scratch[i];  // bug reads_unwritten_half
}

void counts_rows_as_columns(const int* in, int* out, int*, int, bool bad) {
  int sum = 0;
  for (int row = 0; row < (bad ? 16 : 4); ++row) {
    for (int column = 0; column < 16; ++column) {
      sum += in[row * 16 + column];  // bug counts_rows_as_columns
    }
  }
  out[0] = sum;
}

void gathers_outside(const int* in, int* out, int*, int count, bool bad) {
  for (int i = 0; i < count; ++i) out[i] = in[in[i] + (bad ? 1 : 0)];  // bug gathers_outside
}

}  // namespace

extern "C" void memory_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_MEMORY_BUGS)
}
