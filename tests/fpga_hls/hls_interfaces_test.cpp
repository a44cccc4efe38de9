// SPDX-License-Identifier: Apache-2.0
//
// The types of a kernel's interface: packets with side channels, manual bursts, printing, shift
// registers, direct I/O, vectors; each also inside hls::stream.
#include <gtest/gtest.h>

#include <numeric>

#include "ap_axi_sdata.h"
#include "ap_fixed.h"
#include "ap_shift_reg.h"
#include "ap_utils.h"
#include "hls_array_partition.h"
#include "hls_burst_maxi.h"
#include "hls_directio.h"
#include "hls_fence.h"
#include "hls_print.h"
#include "hls_stream.h"
#include "hls_vector.h"

namespace tandem {
namespace {

template <int D>
int data_width(const hls::axis<ap_uint<D>, 0, 0, 0>&) {
  return D;
}

TEST(HlsAxis, CarriesDataAndTheChannelsItHas) {
  hls::stream<ap_axiu<40, 3, 0, 5>> wire("wire");
  ap_axiu<40, 3, 0, 5> beat;
  beat.data = 0xfedcba9876ull;
  beat.keep = -1;
  beat.strb = 0x0f;
  beat.user = 9;
  beat.id = 7;
  beat.dest = 31;
  beat.last = 1;
  wire.write(beat);
  const ap_axiu<40, 3, 0, 5> got = wire.read();
  EXPECT_EQ(got.data, 0xfedcba9876ull);
  EXPECT_EQ(got.keep, 31);
  EXPECT_EQ(got.get_strb(), 15);
  EXPECT_EQ(got.get_user(), 1);
  EXPECT_EQ(ap_uint<1>(got.id), 0);  // not on this interface
  EXPECT_EQ(got.get_dest(), 31);
  EXPECT_TRUE(got.get_last());
  EXPECT_EQ(data_width(ap_axiu<48>()), 48);
}

TEST(HlsAxis, LeavesOutWhatIsDisabled) {
  typedef hls::axis<float, 0, 0, 0, AXIS_ENABLE_LAST> Slim;
  static_assert(Slim::has_last && !Slim::has_keep && !Slim::has_strb && !Slim::has_user, "");
  static_assert(std::is_same<hls::axis<float, 0, 0, 0>::Type_Keep, ap_uint<4>>::value, "");
  static_assert(std::is_same<ap_axis<17, 1, 1, 1>::Type_Data, ap_int<17>>::value, "");
  static_assert(std::is_same<ap_axis<17, 1, 1, 1>::Type_Strb, ap_uint<3>>::value, "");
  Slim beat;
  beat.set_data(1.5f);
  beat.set_last(true);
  beat.keep = 3;
  EXPECT_EQ(beat.get_data(), 1.5f);
  EXPECT_EQ(ap_uint<4>(beat.keep), 15);
  qdma_axis<64, 0, 0, 0> queue;
  queue.keep_all();
  queue.set_last(0);
  EXPECT_EQ(queue.get_keep(), 255);
  hls::axis<ap_fixed<28, 6>, 0, 0, 0> fixed;
  fixed.data = 1.25;
  EXPECT_EQ(fixed.keep.length(), 4);
}

TEST(HlsBurst, ReadsAndWritesWhatWasAskedFor) {
  std::vector<int> memory(64);
  std::iota(memory.begin(), memory.end(), 0);
  hls::burst_maxi<int> in(memory.data()), out = in;
  in.read_request(8, 4);
  in.read_request(20, 1);
  out.write_request(40, 3);
  out.write_request(50, 2);
  for (int i = 0; i < 5; ++i) out.write(in.read() * 10);
  out.write_response();
  out.write_response();
  EXPECT_EQ(memory[40], 80);
  EXPECT_EQ(memory[42], 100);
  EXPECT_EQ(memory[50], 110);
  EXPECT_EQ(memory[51], 200);
  out.write_request(0, 1);
  out.write(-1, ap_uint<4>(0b0110));
  out.write_response();
  EXPECT_EQ(memory[0], 0x00ffff00);
}

TEST(HlsBurst, SaysWhatWouldHangTheHardware) {
  int memory[8] = {};
  hls::burst_maxi<int> port(memory);
  EXPECT_THROW(port.read(), hls::burst_error);
  EXPECT_THROW(port.write(1), hls::burst_error);
  EXPECT_THROW(port.write_response(), hls::burst_error);
  EXPECT_THROW(port.read_request(0, 0), hls::burst_error);
  port.read_request(0, 1);
  port.read();
  EXPECT_THROW(port.read(), hls::burst_error);
  port.write_request(0, 2);
  port.write(1);
  try {
    port.write_response();
    FAIL();
  } catch (const hls::burst_error& error) {
    EXPECT_NE(std::string(error.what()).find("1 values are missing"), std::string::npos);
  }
  port.write(2);
  EXPECT_THROW(port.write(3), hls::burst_error);
  port.write_response();
  EXPECT_THROW(port.write_response(), hls::burst_error);
}

struct Pixel {
  unsigned char r, g, b;
};

TEST(HlsBurst, MovesOtherTypesFromAnyByteOn) {
  typedef hls::vector<Pixel, 16> Pixels;
  std::vector<Pixel> from(100), to(100);
  for (int i = 0; i < 100; ++i) from[i] = Pixel{static_cast<unsigned char>(i), 1, 2};
  std::vector<ap_uint<512>> memory(10);
  std::memcpy(static_cast<void*>(memory.data()), from.data(), 300);
  hls::burst_maxi<ap_uint<512>> in(memory.data());
  hls::burst_maxi<ap_uint<512>> out(reinterpret_cast<ap_uint<512>*>(to.data()));
  in.read_request_unaligned<Pixels>(0, 6);
  in.read_request_unaligned<Pixel>(6 * sizeof(Pixels), 4);
  out.write_request_unaligned<Pixels>(0, 6);
  out.write_request_unaligned<Pixel>(6 * sizeof(Pixels), 4);
  for (int i = 0; i < 6; ++i) out.write<Pixels>(in.read<Pixels>());
  EXPECT_THROW(in.read(), hls::burst_error);
  for (int i = 0; i < 4; ++i) out.write<Pixel>(in.read<Pixel>());
  out.write_response();
  out.write_response();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(to[i].r, i);
  in.read_request_unaligned<Pixel>(0, 0);
  EXPECT_THROW(in.read<Pixel>(), hls::burst_error);
  out.write_request_unaligned<Pixel>(0, 0);
  out.write_response();
}

TEST(HlsArrayPartition, GathersElements) {
  float array[40];
  std::iota(array, array + 40, 0.0f);
  const auto lanes = hls::gather<float, 4>(array, {1, 10, 19, 28});
  EXPECT_EQ(lanes.reduce_add(), 58);
  EXPECT_EQ(lanes[2], 19);
}

TEST(HlsPrint, PrintsOneNumberByItsOwnType) {
  testing::internal::CaptureStdout();
  hls::print("start 100%%\n");
  hls::print("int %d|", -5);
  hls::print("%04x|", 0xabcu);
  hls::print("%lu|", ap_uint<40>(1) << 39);
  hls::print("%5.2f|", 3.14159f);
  hls::print("%d|", 2.9);
  hls::print("%g%%|", 7);
  hls::print("%x|", -1);
  hls::print("%lld\n", -5000000000ll);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "start 100%\nint -5|0abc|549755813888| 3.14|2|7%|ffffffff|-5000000000\n");
}

TEST(HlsShiftRegister, GivesWhatStoodThereBefore) {
  static ap_shift_reg<ap_int<9>, 4> line("line");
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(line.shift(i), 0);
  EXPECT_EQ(line.shift(5), 1);
  EXPECT_EQ(line.read(0), 5);
  EXPECT_EQ(line.shift(6, 1), 4);
  EXPECT_EQ(line.shift(7, 0, false), 6);
  EXPECT_EQ(line.read(0), 6);
  EXPECT_THROW(line.read(4), std::out_of_range);
}

TEST(HlsDirectIo, DeliversWithAndWithoutHandshake) {
  hls::ap_hs<int> handshake("handshake");
  EXPECT_TRUE(!handshake.valid() && handshake.ready());
  handshake.write(1);
  handshake << 2;
  int value = 0;
  handshake >> value;
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(handshake.valid());
  EXPECT_EQ(handshake.read(), 2);
  EXPECT_FALSE(handshake.read_nb(value));
  hls::ap_none<ap_uint<4>> wire;
  EXPECT_EQ(wire.read(), 0);
  wire << 9;
  wire << 8;
  EXPECT_EQ(wire.read(), 9);
  EXPECT_EQ(wire.read(), 8);
  EXPECT_EQ(wire.read(), 8);
  hls::ap_vld<int> valid;
  valid.write(3);
  EXPECT_EQ(valid.read(), 3);
}

TEST(HlsVector, ComputesLaneByLane) {
  typedef hls::vector<int, 4> Vector;
  static_assert(sizeof(Vector) == 16 && alignof(Vector) == 16, "");
  static_assert(sizeof(hls::vector<int, 3>) == 12 && alignof(hls::vector<char, 8>) == 8, "");
  static_assert(sizeof(hls::vector<ap_uint<512>, 2>) == 128, "");
  Vector a = {1, 2, 3, 4}, b = 10;
  EXPECT_EQ((a + b)[3], 14);
  EXPECT_EQ((2 * a - 1)[2], 5);
  EXPECT_EQ((a << 1)[1], 4);
  EXPECT_EQ((-a)[0], -1);
  EXPECT_EQ(a.reduce_add(), 10);
  EXPECT_EQ(a.reduce_mult(), 24);
  EXPECT_EQ(a.reduce_or(), 7);
  EXPECT_TRUE(a < b && a != b && a == Vector({1, 2, 3, 4}) && b >= a);
  a += b;
  ++a;
  EXPECT_EQ(a[0], 12);
  EXPECT_THROW(Vector({1, 2}), std::invalid_argument);
  hls::stream<hls::vector<ap_fixed<16, 8>, 32>> lanes("lanes");
  lanes.write(hls::vector<ap_fixed<16, 8>, 32>(ap_fixed<16, 8>(1.5)));
  EXPECT_EQ((lanes.read() * ap_fixed<16, 8>(2))[31], 3);
}

TEST(HlsTiming, WaitsPassAndOrderStays) {
  int a = 1, b = 2;
  ap_wait();
  ap_wait_n(3);
  ap_wait_until(a == 2);
  hls::fence(a, b);
  hls::fence({a, b}, {a});
  EXPECT_EQ(hls::reg(a + b), 3);
}

}  // namespace
}  // namespace tandem
