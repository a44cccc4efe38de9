// SPDX-License-Identifier: Apache-2.0
//
// What kernels of public projects rely on, compiled as C++11: ap_int.h brings the fixed-point
// numbers, half and string streams; the folders etc/ and utils/; a stream whose class derives from
// hls::stream, as an argument of two linked kernels; depths with brackets, blanks and macros.
// Broken: the offset is lost.
#include <ap_int.h>
#include <etc/ap_utils.h>
#include <hls_stream.h>
#include <utils/x_hls_utils.h>

#define ROWS 4
#define CEILING (ROWS + 1)

template <typename T, int Capacity>
class Stream : public hls::stream<T, Capacity> {
 public:
  Stream() {}
  explicit Stream(const char* name) : hls::stream<T, Capacity>(name) {}
};

template <typename T>
class PlainStream : public hls::stream<T> {
 public:
  explicit PlainStream(const char* name) : hls::stream<T>(name) {}
};

typedef ap_fixed<40, 36> Value;

static void convert(const int* in, Stream<Value, 2>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(Value(in[i]));
}

static void scale(Stream<Value, 2>& in, PlainStream<ap_uint<40>>& out, int count) {
  for (int i = 0; i < count; ++i) {
    ap_wait();
    Value value = in.read() * half(3.0f);
#ifndef TANDEM_BROKEN
    value += fp_struct<float>(2.0f).mantissa() + fp_struct<float>(2.0f).expv() - 1;
#endif
    out.write(value.range().to_ap_int_base());
  }
}

extern "C" {

void produce(const int* in, PlainStream<ap_uint<40>>& out, int count) {
#pragma HLS interface axis port = out
  Stream<Value, 2> values("values");
  hls::stream<int> deep("deep"), shallow("shallow");
#pragma HLS stream variable = deep depth = (4 * 8)
#pragma HLS stream variable = shallow depth = CEILING * ROWS
  if (deep.capacity() != 32 || shallow.capacity() != 20) return;
#pragma HLS dataflow
  convert(in, values, count);
  scale(values, out, count);
}
}
