// SPDX-License-Identifier: Apache-2.0
//
// The end of produce.cpp's link, compiled as C++11: only ap_int.h and hls_stream.h are included,
// and the class of the stream wraps hls::stream.
#include <ap_int.h>
#include <hls_stream.h>

enum class Place { kAny, kRegisters };

// The stream class of a library: the vendor's stream is its only member.
template <typename T, std::size_t Depth = 0, Place place = Place::kAny>
class Fifo;
template <typename T>
class Fifo<T, 0, Place::kAny> {
 public:
  Fifo() {}
  T read() { return pop(); }
  T pop() { return stream_.read(); }
  bool empty() const { return stream_.empty(); }

 private:
  hls::stream<T> stream_;
};

typedef ap_fixed<40, 36> Value;

extern "C" {

void consume(int* out, Fifo<ap_uint<40>>& in, int count) {
#pragma HLS interface axis port = in
  for (int i = 0; i < count; ++i) {
    Value value;
    value.range() = in.pop();
    std::ostringstream text;
    text << value.to_int();
    out[i] = std::atoi(text.str().c_str());
  }
}
}
