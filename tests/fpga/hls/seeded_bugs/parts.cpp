// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of values that are missing in a part of something: a member, one half of a complex
// number, the rest of an array, a tag whose bit is not set. The twins use nothing of that; see
// bugs.h.
#include <ap_int.h>
#include <hls_stream.h>
#include <stdio.h>
#include <string.h>

#include <complex>
#include <string>

#include "bugs.h"

namespace {

struct Line {
  int tag;
  bool is_valid;
  ap_uint<8> age;
};

struct Word {
  int data;
  bool is_last;
};

using Level = ap_uint<8>;

// The tag of a line that is not valid decides nothing.
void tag_before_valid(const int* in, int* out, int*, int count, bool bad) {
  Line lines[8];
  int last, hits = 0;
  bool has_last = false;
  for (int i = 0; i < 8; ++i) lines[i].is_valid = bad;
  for (int i = 0; i < count; ++i) {
    Line& line = lines[in[i] & 7];
    if (line.tag == in[i] && line.is_valid && line.age < 100) {  // bug tag_before_valid
      ++hits;
    } else {
      line.tag = in[i];
      line.is_valid = true;
      line.age = 0;
    }
    const bool is_again = in[i] == last && has_last;
    if (last != in[i] || !has_last) {
      last = in[i];
      has_last = true;
    }
    out[i] = hits + is_again;
  }
}

void coefficient_is_zero(const int* in, int* out, int*, int count, bool bad) {
  const short taps[6] = {3, 2, 1, 0, 0, 0};
  short window[6];
  for (int i = 0; i < count; ++i) {
    for (int at = 5; at > 0; --at) window[at] = window[at - 1];  // bug coefficient_is_zero
    window[0] = in[i];
    int sum = 0;
    for (int at = 0; at < 6; ++at) sum += window[at] * taps[at];
    if (i >= (bad ? 1 : 2)) out[i] = sum;
  }
}

// A factor that is 0 by chance hides nothing.
void factor_is_missing(const int* in, int* out, int*, int, bool bad) {
  int sizes[3];
  for (int i = 0; i < (bad ? 2 : 3); ++i) sizes[i] = in[i];
  out[0] = sizes[0] * sizes[1] * sizes[2];  // bug factor_is_missing
}

// Bits that come in from the left replace all others.
void numbers_exchange(const int* in, int* out, int*, int count, bool bad) {
  Level first, second, third;
  ap_uint<32> bits;
  for (int i = 0; i < count; ++i) {
    third = second;  // bug numbers_exchange
    second = first;
    first = in[i];
    Level low = first, middle = second, high = third, kept;
    if (low > middle) {
      kept = low;
      low = middle;
      middle = kept;
    }
    if (middle > high) {
      kept = middle;
      middle = high;
      high = kept;
    }
    bits = (bits >> 8) | (ap_uint<32>(in[i] & 255) << 24);
    if (i >= (bad ? 1 : 2)) out[i] = middle.to_int();
    if (i >= 3) out[i] += bits.to_int() & 1;
  }
}

void write_words(const int* in, hls::stream<Word>& words, int count, bool bad) {
  for (int i = 0; i < count; ++i) {
    Word word;
    word.data = in[i];
    if (!bad) word.is_last = i == count - 1;
    words.write(word);  // bug member_through_stream
  }
}

// Half of the words are read by data only.
void member_through_stream(const int* in, int* out, int*, int count, bool bad) {
  hls::stream<Word> words("words"), plain("plain");
  write_words(in, words, count, bad);
  write_words(in, plain, count, true);
  for (int i = 0; i < count; ++i) {
    const Word word = words.read();
    out[i] = word.data + plain.read().data;
    if (word.is_last) out[i] += 1;
  }
}

void imaginary_part(const int* in, int* out, int*, int, bool bad) {
  float real[4], imaginary[4];
  std::complex<float> points[4];
  for (int i = 0; i < 4; ++i) {
    real[i] = in[i];
    if (i > 0) imaginary[i] = i;
  }
  for (int i = 0; i < 4; ++i) points[i] = {real[i], imaginary[i]};  // bug imaginary_part
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += points[i].real();
  for (int i = bad ? 0 : 1; i < 4; ++i) sum += points[i].imag();
  out[0] = sum > 5;
}

void rest_is_copied_out(const int* in, int* out, int*, int count, bool bad) {
  int rows[64];
  for (int i = 0; i < count - 4; ++i) rows[i] = in[i];
  memcpy(out, rows, (bad ? count : count - 4) * sizeof(int));  // bug rest_is_copied_out
}

// What a library writes has a value.
void text_is_not_made(const int* in, int* out, int*, int, bool bad) {
  char digits[16];
  if (!bad) snprintf(digits, sizeof(digits), "%d", in[12]);
  std::string text = "abc";
  for (int i = 0; i < 20; ++i) text += static_cast<char>('a' + in[i] % 8);
  const std::string part = text.substr(2, 8) + std::to_string(in[3]);
  for (unsigned i = 0; i < part.size(); ++i) out[i + 1] = part[i];
  out[0] = digits[1] - '0';  // bug text_is_not_made
}

// A member that becomes a variable of its own, and goes out as it is.
void member_goes_out(const int* in, int* out, int*, int count, bool bad) {
  Word word;
  word.is_last = count > 3;
  if (!bad) word.data = in[0];
  out[1] = word.is_last;
  out[0] = word.data;  // bug member_goes_out
}

void element_goes_out(const int* in, int* out, int*, int, bool bad) {
  int pair[2];
  pair[0] = in[0];
  if (!bad) pair[1] = in[1];
  out[0] = pair[1];  // bug element_goes_out
}

// The twin copies a structure whose member has no value.
void row_is_copied_whole(const int* in, int* out, int*, int, bool bad) {
  Word word;
  word.is_last = in[0] > 0;
  *reinterpret_cast<Word*>(out + 2) = word;
  if (bad) out[0] = word.data;  // bug row_is_copied_whole
}

}  // namespace

extern "C" void part_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_PART_BUGS)
}
