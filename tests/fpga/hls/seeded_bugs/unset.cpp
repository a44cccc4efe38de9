// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of variables without a value. The twins read such variables too, and never use what
// they read: it is passed on, selected away or overwritten; see bugs.h.
#include <ap_axi_sdata.h>
#include <ap_fixed.h>
#include <ap_int.h>
#include <hls_stream.h>
#include <hls_vector.h>
#include <math.h>
#include <string.h>

#include <algorithm>
#include <complex>

#include "bugs.h"

namespace {

using Sample = ap_fixed<16, 8>;
using Four = hls::vector<float, 4>;

struct Entry {
  int key, weight, next, mark, rank;
};

void window_fills(const int* in, int* out, int*, int count, bool bad) {
  int window[4];
  for (int i = 0; i < count; ++i) {
    for (int at = 3; at > 0; --at) window[at] = window[at - 1];  // bug window_fills
    window[0] = in[i];
    if (i >= (bad ? 2 : 3)) out[i] = window[0] + window[1] + window[2] + window[3];
  }
}

void difference_of_first(const int* in, int* out, int*, int count, bool bad) {
  int before;
  for (int i = 0; i < count; ++i) {
    const int difference = in[i] - before;  // bug difference_of_first
    if (i > 0 || bad) out[i] = difference;
    before = in[i];
  }
}

void first_is_guarded(const int* in, int* out, int*, int count, bool bad) {
  int least;
  for (int i = 0; i < count; ++i) {
    const int value = in[i];
    const bool is_first = i == (bad ? -1 : 0);
    if (is_first || value < least) least = value;  // bug first_is_guarded
  }
  out[0] = least;
}

void ping_pong(const int* in, int* out, int*, int count, bool bad) {
  int buffers[2][16];
  for (int turn = 0; turn < count / 16; ++turn) {
    for (int i = 0; i < 16; ++i) buffers[turn & 1][i] = in[turn * 16 + i];
    if (turn < (bad ? 0 : 1)) continue;
    for (int i = 0; i < 16; ++i) {
      out[turn * 16 + i] = buffers[(turn + 1) & 1][i];  // bug ping_pong
    }
  }
}

void rest_is_selected_away(const int* in, int* out, int*, int count, bool bad) {
  int table[64];
  const int valid = count / 2;
  for (int i = 0; i < valid; ++i) table[i] = in[i];
  for (int i = 0; i < count; ++i) {
    const int value = table[i];  // bug rest_is_selected_away
    out[i] = i < valid + bad ? value : 0;
  }
}

void structure_is_copied(const int* in, int* out, int*, int, bool bad) {
  Entry queue[4];
  Entry one;
  one.key = in[1];
  one.rank = in[2];
  queue[in[2]] = one;
  const Entry other = queue[bad ? 1 : in[2]];  // bug structure_is_copied
  out[0] = other.rank + other.key;
}

void half_is_copied(const int* in, int* out, int*, int count, bool bad) {
  int from[64], to[64];
  for (int i = 0; i < count / 2; ++i) from[i] = in[i];
  memcpy(to, from, sizeof(from));
  for (int i = 0; i < count / 2 + bad; ++i) out[i] = to[i];  // bug half_is_copied
}

// The side channels of a packet are often left as they are.
void packet_has_data_only(const int* in, int* out, int*, int count, bool bad) {
  hls::stream<ap_axiu<32, 0, 0, 0>> packets("packets");
  for (int i = 0; i < count; ++i) {
    ap_axiu<32, 0, 0, 0> packet;
    packet.data = in[i];
    packet.last = i == count - 1;
    if (bad && packet.keep == 0xf) out[1] = 1;  // bug packet_has_data_only
    packets.write(packet);
  }
  for (int i = 0; i < count; ++i) out[i] = packets.read().data;
}

void ranges_are_set(const int* in, int* out, int*, int, bool bad) {
  ap_uint<32> words[4];
  for (int i = 0; i < (bad ? 3 : 4); ++i) {
    words[i].range(15, 0) = in[i];
    words[i].range(31, 16) = in[i + 1];
  }
  out[0] = words[in[3]];  // bug ranges_are_set
}

__attribute__((noinline)) int count_above(const Sample* samples, int count, Sample limit) {
  int above = 0;
  for (int i = 0; i < count; ++i) {
    if (samples[i] > limit) ++above;  // bug counts_too_many
  }
  return above;
}

void counts_too_many(const int* in, int* out, int*, int, bool bad) {
  Sample samples[16];
  for (int i = 0; i < 12; ++i) samples[i] = in[i];
  out[0] = count_above(samples, bad ? 16 : 12, in[3]);
}

void complex_sums(const int* in, int* out, int*, int count, bool bad) {
  std::complex<float> sums[4];  // its constructor sets zeros
  float scale;
  if (in[3] == (bad ? 4 : 3)) scale = 2;
  for (int i = 0; i < count; ++i) sums[i % 4] += std::complex<float>(1, in[i]);
  out[0] = sums[1].imag() * scale > 3;  // bug complex_sums
}

void lanes_one_by_one(const int* in, int* out, int*, int, bool bad) {
  Four lanes;
  for (int lane = 0; lane < (bad ? 3 : 4); ++lane) lanes[lane] = in[lane];
  float sum = 0;
  for (int lane = 0; lane < 4; ++lane) sum += lanes[lane];  // bug lanes_one_by_one
  out[0] = sum > 5;
}

void lambda_reads(const int* in, int* out, int*, int count, bool bad) {
  int table[64];
  const auto fill = [&](int last) {
    for (int i = 0; i < last; ++i) table[i] = in[i];
  };
  const auto at = [&](int i) { return table[i]; };  // bug lambda_reads
  fill(bad ? count - 1 : count);
  out[0] = at(in[count - 1]);
}

template <int N>
struct Tree {
  static int sum(const int* values) {
    return Tree<N / 2>::sum(values) + values[N - 1];  // bug tree_of_templates
  }
};
template <>
struct Tree<1> {
  static int sum(const int* values) { return values[0]; }
};

void tree_of_templates(const int* in, int* out, int*, int, bool bad) {
  int values[8];
  for (int i = 0; i < (bad ? 7 : 8); ++i) values[i] = in[i];
  out[0] = Tree<8>::sum(values);
}

void union_is_set(const int* in, int* out, int*, int, bool bad) {
  union {
    float real;
    int bits;
  } both;
  if (!bad) both.bits = in[1];
  out[0] = both.real > 0;  // bug union_is_set
}

// Static arrays are zero.
void history_is_local(const int* in, int* out, int*, int count, bool bad) {
  static int kept[8];
  int local[8];
  int* const history = bad ? local : kept;
  for (int i = 0; i < count; ++i) history[i % 8] += in[i];  // bug history_is_local
  out[0] = history[3];
}

void case_is_missing(const int* in, int* out, int*, int, bool bad) {
  int factor;
  switch (in[bad ? 3 : 2]) {
    case 1:
      factor = 3;
      break;
    case 2:
      factor = 5;
      break;
    default:
      break;
  }
  out[0] = in[1] * factor;  // bug case_is_missing
}

void find(const int* in, int count, int value, int& at) {
  for (int i = 0; i < count; ++i) {
    if (in[i] == value) at = i;
  }
}

void nothing_is_found(const int* in, int* out, int*, int count, bool bad) {
  int at;
  find(in, count, bad ? -1 : 7, at);
  out[0] = in[at & 7];  // bug nothing_is_found
}

struct Counter {
  int sum, count;
  Counter() : count(0) {}
  void add(int value) {
    sum += value;  // bug constructor_forgets
    ++count;
  }
};

void constructor_forgets(const int* in, int* out, int*, int count, bool bad) {
  Counter counter;
  if (!bad) counter.sum = 0;
  for (int i = 0; i < count; ++i) counter.add(in[i]);
  out[0] = counter.sum;
}

void flag_is_not_cleared(const int* in, int* out, int*, int count, bool bad) {
  bool found;
  if (!bad) found = false;
  for (int i = 0; i < count; ++i) {
    if (in[i] > 100) found = true;
  }
  out[0] = found ? 1 : 2;  // bug flag_is_not_cleared
}

void bound_is_not_set(const int* in, int* out, int*, int, bool bad) {
  int bound;
  if (in[1] == (bad ? 2 : 1)) bound = 4;
  for (int i = 0; i < (bound & 7); ++i) out[i] = in[i];  // bug bound_is_not_set
}

void word_is_not_set(const int* in, int* out, int*, int, bool bad) {
  hls::stream<int> words("words");
  int word;
  if (!bad) word = in[0];
  words.write(word);  // bug word_is_not_set
  out[0] = words.read();
}

// The first copy has no values yet, and nobody looks at it.
template <int kSize>
void structures_move_up(const int* in, int* out, int count) {
  struct {
    int values[kSize];
  } rows[2], row;
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < kSize; ++k) row.values[k] = in[i] + k;
    rows[1] = rows[0];
    rows[0] = row;
    if (i >= 1) out[i] = rows[1].values[1] + rows[1].values[count & 3];
  }
}

// What is computed of rows behind the last one is stored, and nobody looks at it.
void rows_behind_last(const int* in, int* out, int*, int, bool bad) {
  int grid[8][8], sums[8];
  structures_move_up<4>(in, out + 8, 3);
  structures_move_up<8>(in, out + 8, 3);
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 8; ++column) grid[row][column] = in[row + column];
  }
  for (int row = 0; row < 8; ++row) {
    sums[row] = 0;
    for (int column = 0; column < 8; ++column) {
      sums[row] += grid[row][column];  // bug rows_behind_last
    }
  }
  for (int row = 0; row < (bad ? 6 : 5); ++row) out[row] = sums[row];
}

// Every bin is added to more often than the card follows all missing values of one load.
void bins_are_not_cleared(const int* in, int* out, int*, int count, bool bad) {
  int bins[64];
  for (int i = 0; i < (bad ? 0 : 64); ++i) bins[i] = 0;
  for (int turn = 0; turn < 20; ++turn) {
    for (int i = 0; i < count; ++i) bins[in[i] & 63] += 1;  // bug bins_are_not_cleared
  }
  for (int i = 0; i < 16; ++i) out[i] = bins[i];
}

// g++ removes the loads of the elements that it knows, and keeps their checks.
void last_lane_is_missing(const int* in, int* out, int*, int, bool bad) {
  int lanes[4];
  lanes[0] = in[0];
  lanes[1] = in[1];
  lanes[2] = in[2];
  if (!bad) lanes[3] = in[3];
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += lanes[i];  // bug last_lane_is_missing
  out[0] = sum;
}

// A store through a reference behind a read of the same element.
void numbers_move_up(const int* in, int* out, int*, int, bool bad) {
  ap_uint<32> lines[2][8];
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 8; ++column) {
      const ap_uint<32> first = lines[0][column];
      const ap_uint<32> second = lines[1][column];  // bug numbers_move_up
      lines[0][column] = second;
      lines[1][column] = in[row * 8 + column];
      if (row >= (bad ? 1 : 2)) out[column] = first + second;
    }
  }
}

// The C library stores the value.
void whole_is_not_set(const int* in, int* out, int*, int, bool bad) {
  double whole;
  if (!bad) out[1] = modf(in[3] * 0.5, &whole) > 0;
  out[0] = whole;  // bug whole_is_not_set
}

// g++ makes one condition of both.
void mask_is_off(const int* in, int* out, int*, int count, bool bad) {
  int level;
  const bool valid = count > 1000;
  if (valid) level = in[1];
  const bool is_high = (valid | bad) & (level > 3);  // bug mask_is_off
  if (is_high) out[0] = level;
  out[1] = is_high;
}

// A shift register of bits, too: those that are missing leave it.
void window_is_not_full(const int* in, int* out, int*, int, bool bad) {
  int window[3][3], line[2][8];
  ap_uint<32> bits, more;
  unsigned word;
  for (int at = 0; at < 64; ++at) {
    const int row = at / 8, column = at % 8, value = in[at];
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 2; ++x) window[y][x] = window[y][x + 1];
    }
    window[0][2] = line[0][column];
    window[1][2] = line[1][column];
    window[2][2] = value;
    line[0][column] = line[1][column];  // bug window_is_not_full
    line[1][column] = value;
    int greatest = 0, sum = 0;
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 3; ++x) {
        greatest = std::max(greatest, window[y][x]);
        sum += window[y][x];
      }
    }
    bits = (bits.range(23, 0), ap_uint<8>(value));
    more = (more << 8) | (value & 255);
    word = word << 8 | (value & 255);
    if (row >= (bad ? 1 : 2) && column >= 2) out[at] = greatest + sum;
    if (at == 3 && bits == word) out[0] = more;
  }
}

}  // namespace

extern "C" void unset_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_UNSET_BUGS)
}
