// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of other shapes: types of the HLS headers, structures, templates, single variables
// and addresses far outside; see bugs.h.
#include <ap_fixed.h>
#include <ap_int.h>
#include <hls_burst_maxi.h>
#include <hls_stream.h>
#include <hls_vector.h>

#include "bugs.h"

namespace {

using Wide = ap_uint<256>;
using Fixed = ap_fixed<16, 8>;
using Lanes = hls::vector<float, 8>;

struct Particle {
  float x, y, z;
  int id;
  short tags[3];
  char flag;
};

void next_wide(const int* in, int* out, int*, int count, bool bad) {
  const Wide* const from = (const Wide*)in;
  Wide* const to = (Wide*)out;
  for (int i = 0; i < count / 8; ++i) {
    to[i] = from[bad ? i + 1 : i];  // bug next_wide
  }
}

// The product of the index and the size of a number is outside of the card.
void wide_index_wraps(const int* in, int* out, int*, int, bool bad) {
  const Wide* const from = (const Wide*)in;
  const unsigned at = bad ? 0 : 1;
  out[0] = from[at - 1].range(31, 0);  // bug wide_index_wraps
}

void particle_behind_end(const int* in, int* out, int*, int count, bool bad) {
  const Particle* const from = (const Particle*)in;
  const int all = count * 4 / sizeof(Particle);
  Particle one = from[bad ? all : 0];  // bug particle_behind_end
  one.id = 3;
  ((Particle*)out)[0] = one;
}

void member_is_not_written(const int*, int* out, int* scratch, int, bool bad) {
  Particle* const all = (Particle*)scratch;
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    all[i].x = 1;
    if (!bad) all[i].y = 2;
  }
  for (int i = 0; i < 4; ++i) sum += all[i].x + all[i].y;  // bug member_is_not_written
  out[0] = static_cast<int>(sum);
}

void lane_is_width(const int* in, int* out, int*, int, bool bad) {
  const Lanes lanes = ((const Lanes*)in)[1];
  const int lane = bad ? 8 : 7;
  out[0] = lanes[lane] > 0;  // bug lane_is_width
}

void rows_as_columns(const int* in, int* out, int*, int, bool bad) {
  Fixed grid[4][6];
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 6; ++column) grid[row][column] = in[column];
  }
  Fixed sum = 0;
  for (int row = 0; row < (bad ? 6 : 4); ++row) {
    for (int column = 0; column < (bad ? 4 : 6); ++column) {
      sum += grid[row][column];  // bug rows_as_columns
    }
  }
  out[0] = sum.to_int();
}

void narrow_index_is_negative(const int* in, int* out, int*, int, bool bad) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = in[i];
  const ap_int<4> at = bad ? 8 : 7;
  out[0] = values[at];  // bug narrow_index_is_negative
}

struct Filter {
  int taps[4][8] = {};
  int sum = 0;
  void apply(int rows) {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < 8; ++column) {
        sum += taps[row][column];  // bug method_overruns
      }
    }
  }
};

void method_overruns(const int*, int* out, int*, int, bool bad) {
  Filter filter;
  filter.apply(bad ? 5 : 4);
  out[0] = filter.sum;
}

template <int N>
struct Shift {
  float values[N] = {};
  void push(float value, int last) {
    for (int i = last; i > 0; --i) values[i] = values[i - 1];  // bug shift_overruns
    values[0] = value;
  }
};

void shift_overruns(const int* in, int* out, int*, int, bool bad) {
  Shift<6> shift;
  for (int i = 0; i < 6; ++i) shift.push(static_cast<float>(in[i]), bad ? 6 : 5);
  out[0] = static_cast<int>(shift.values[5]);
}

// The card ends: the number throws.
void bit_is_width(const int* in, int* out, int*, int, bool bad) {
  const ap_uint<24> word = in[3];
  const int at = bad ? 24 : 23;
  out[0] = word[at];  // bug bit_is_width
}

void array_is_half_set(const int* in, int* out, int*, int count, bool bad) {
  int values[64];
  for (int i = 0; i < (bad ? count / 2 : count); ++i) values[i] = in[i];
  for (int i = 0; i < count; ++i) out[i] = values[i];  // bug array_is_half_set
}

void sum_is_not_set(const int* in, int* out, int*, int count, bool bad) {
  int sum;
  if (!bad) sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += in[i];  // bug sum_is_not_set
  }
  out[0] = sum;
}

void least_is_not_set(const int* in, int* out, int*, int count, bool bad) {
  int least;
  for (int i = 0; i < count; ++i) {
    if (i == 0 && !bad) least = in[0];
    if (in[i] < least) least = in[i];  // bug least_is_not_set
  }
  out[0] = least;
}

// Twin: the value passes through another variable, which is a copy and no use.
void copy_is_not_set(const int* in, int* out, int*, int, bool bad) {
  int value, copy;
  if (in[3] > (bad ? 50 : 1)) value = 4;
  copy = value;
  out[0] = copy;  // bug copy_is_not_set
}

void number_is_not_set(const int*, int* out, int*, int, bool bad) {
  ap_uint<20> number;
  if (!bad) number = 3;
  const ap_uint<20> next = number + 1;  // bug number_is_not_set
  out[0] = next;
}

// Twin: bits are set one after another in a number without a value.
void bits_are_not_set(const int* in, int* out, int*, int, bool bad) {
  ap_uint<16> bits[4];
  for (int i = 0; i < (bad ? 2 : 4); ++i) {
    for (int bit = 0; bit < 16; ++bit) bits[i][bit] = in[bit] & 1;
  }
  out[0] = bits[in[3]] + 1;  // bug bits_are_not_set
}

void member_is_not_set(const int* in, int* out, int*, int, bool bad) {
  Particle one;
  one.x = 1;
  if (!bad) one.z = static_cast<float>(in[1]);
  out[0] = one.x + one.z > 2;  // bug member_is_not_set
}

void lanes_are_not_set(const int*, int* out, int*, int, bool bad) {
  Lanes parts[4];
  for (int i = 0; i < (bad ? 3 : 4); ++i) parts[i] = 0.0f;
  Lanes sum = 0.0f;
  for (int i = 0; i < 4; ++i) sum += parts[i];  // bug lanes_are_not_set
  out[0] = sum[0] > 0;
}

void set_first(int* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = i;
}

void helper_leaves_last(const int*, int* out, int*, int, bool bad) {
  int values[16];
  set_first(values, bad ? 15 : 16);
  out[0] = values[15];  // bug helper_leaves_last
}

void number_divides_by_zero(const int* in, int* out, int*, int, bool bad) {
  const ap_int<24> a = 100, b = in[bad ? 0 : 1];
  out[0] = a / b;  // bug number_divides_by_zero
}

void wide_remainder_of_zero(const int* in, int* out, int*, int, bool bad) {
  const ap_uint<150> a = 100, b = in[bad ? 0 : 3];
  const ap_uint<150> rest = a % b;  // bug wide_remainder_of_zero
  out[0] = rest.to_int();
}

void fixed_divides_by_zero(const int* in, int* out, int*, int, bool bad) {
  const Fixed a = 5, b = in[bad ? 0 : 1];
  const Fixed quotient = a / b;  // bug fixed_divides_by_zero
  out[0] = quotient.to_int();
}

void polls_for_ever(const int*, int* out, int*, int, bool bad) {
  hls::stream<int> words("words");
  int word = 0;
  words.write(1);
  if (bad) words.read();
  while (!words.read_nb(word)) out[1] = 1;  // bug polls_for_ever
  out[0] = word;
}

// Twin: the last burst of the buffer.
void burst_behind_end(const int* in, int* out, int*, int count, bool bad) {
  hls::burst_maxi<int> port(const_cast<int*>(in));
  int values[16];
  port.read_request(static_cast<size_t>(bad ? count - 8 : count - 16), 16);
  for (int i = 0; i < 16; ++i) {
    values[i] = port.read();  // bug burst_behind_end
  }
  out[0] = values[0] + values[15];
}

}  // namespace

extern "C" void shape_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_SHAPE_BUGS)
}
