// SPDX-License-Identifier: Apache-2.0
//
// hls::stream: order, bounds, stages in order, two threads, and reads without a writer.
#include "hls_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "hls_vector.h"

namespace tandem {
namespace {

class Impatient {
 public:
  Impatient() : before_(hls::stream_patience_ms().exchange(20)) {}
  ~Impatient() { hls::stream_patience_ms() = before_; }

 private:
  int before_;
};

TEST(Stream, KeepsOrderAcrossManyTurnsOfTheRing) {
  hls::stream<int, 3> bounded;
  hls::stream<int> unbounded;
  hls::stream<int>* both[] = {&bounded, &unbounded};
  for (hls::stream<int>* stream : both) {
    int written = 0, read = 0;
    for (int round = 0; round < 500; ++round) {
      for (int i = 0; i <= round % 3; ++i) stream->write(written++);
      while (!stream->empty()) EXPECT_EQ(stream->read(), read++);
    }
    EXPECT_EQ(read, written);
  }
}

TEST(Stream, HoldsExactlyItsDepth) {
  hls::stream<int, 4> stream("s");
  EXPECT_EQ(stream.capacity(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(stream.write_nb(i));
  EXPECT_TRUE(stream.full());
  EXPECT_FALSE(stream.write_nb(9));
  EXPECT_EQ(stream.size(), 4u);
  int value = -1;
  EXPECT_TRUE(stream.read_nb(value));
  EXPECT_EQ(value, 0);
  EXPECT_FALSE(stream.full());
  for (int i = 1; i < 4; ++i) EXPECT_EQ(stream.read(), i);
  EXPECT_FALSE(stream.read_nb(value));
  EXPECT_TRUE(stream.empty());
}

TEST(Stream, WithoutADepthTakesAnyNumber) {
  hls::stream<int> stream;
  for (int i = 0; i < 10000; ++i) stream << i;
  EXPECT_FALSE(stream.full());
  EXPECT_EQ(stream.size(), 10000u);
  for (int i = 0; i < 10000; ++i) {
    int value = -1;
    stream >> value;
    ASSERT_EQ(value, i);
  }
}

TEST(Stream, NamesTheOneThatIsEmptyForGood) {
  const Impatient impatient;
  hls::stream<int, 2> stream("scores");
  try {
    stream.read();
    FAIL() << "an empty stream gave a value";
  } catch (const hls::stream_stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("'scores' is empty"), std::string::npos);
  }
}

// Stages called one after the other: the reader of a full stream has not begun.
TEST(Stream, GoesAheadWhereTheReaderComesLater) {
  hls::stream<int, 4> first, second;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) first.write(i);
    EXPECT_TRUE(first.full());
    EXPECT_FALSE(first.write_nb(0));
    for (int i = 0; i < 5000; ++i) second.write(first.read() + 1);
    EXPECT_TRUE(first.empty());
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(second.read(), i + 1);
  }
}

TEST(Stream, WaitsForTheThreadThatReads) {
  hls::stream<int, 4> stream;
  std::atomic<bool> full(false);
  std::thread reader([&] {
    EXPECT_EQ(stream.read(), 0);
    while (!full) std::this_thread::yield();
    for (int i = 1; i < 300; ++i) {
      EXPECT_LE(stream.size(), 4u);
      EXPECT_EQ(stream.read(), i);
    }
  });
  stream.write(0);
  while (!stream.empty()) std::this_thread::yield();
  for (int i = 1; i < 300; ++i) {
    if (i == 5) full = true;
    stream.write(i);
  }
  reader.join();
}

TEST(Stream, CarriesValuesBetweenThreads) {
  hls::stream<std::uint64_t, 5> bounded;
  hls::stream<std::uint64_t> unbounded;
  hls::stream<std::uint64_t>* both[] = {&bounded, &unbounded};
  for (hls::stream<std::uint64_t>* stream : both) {
    constexpr std::uint64_t kCount = 100000;
    std::thread producer([&] {
      for (std::uint64_t i = 0; i < kCount; ++i) stream->write(i * i);
    });
    for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(stream->read(), i * i);
    producer.join();
    EXPECT_TRUE(stream->empty());
  }
}

TEST(Stream, KeepsWideVectorsAligned) {
  typedef hls::vector<float, 16> Wide;
  hls::stream<Wide> stream;
  for (int i = 0; i < 200; ++i) stream.write(Wide(static_cast<float>(i)));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(stream.read()[15], static_cast<float>(i));
}

TEST(Vector, ComputesLaneByLane) {
  hls::vector<int, 4> a{1, 2, 3, 4};
  const hls::vector<int, 4> b(10);
  const hls::vector<int, 4> sum = a + b, twice = a * 2;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sum[i], 11 + i);
    EXPECT_EQ(twice[i], 2 * (1 + i));
    EXPECT_EQ((-a)[i], -1 - i);
  }
  EXPECT_EQ(a.reduce_add(), 10);
  EXPECT_EQ(a.reduce_mult(), 24);
  EXPECT_TRUE(a < b && a != b && b >= a && a == (hls::vector<int, 4>{1, 2, 3, 4}));
  ++a;
  EXPECT_EQ(a[3], 5);
  EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0), 14);
  EXPECT_THROW((hls::vector<int, 4>{1, 2}), std::invalid_argument);
}

TEST(Vector, LiesInMemoryAsItsLanesDo) {
  EXPECT_EQ(sizeof(hls::vector<std::uint16_t, 32>), 64u);
  EXPECT_EQ(alignof(hls::vector<std::uint16_t, 32>), 64u);
  EXPECT_EQ(alignof(hls::vector<float, 64>), 256u);
  EXPECT_EQ(sizeof(hls::vector<std::uint8_t, 3>), 3u);
  EXPECT_EQ(alignof(hls::vector<std::uint8_t, 3>), 1u);
  EXPECT_EQ(sizeof(hls::vector<float, 6>), 24u);
  EXPECT_EQ(alignof(hls::vector<float, 6>), 8u);
  EXPECT_EQ(alignof(hls::vector<double, 1>), alignof(double));
}

}  // namespace
}  // namespace tandem
