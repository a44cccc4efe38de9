// SPDX-License-Identifier: Apache-2.0
//
// The card as aggregation unit, through the real runtime and the emulated card: the same bits as a
// loop over the sources, refusals, bad input, loss.
#include <gtest/gtest.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "common/error.h"
#include "drivers/xrt/emulated_environment.h"
#include "support/card_processes.h"
#include "xrt/backend.h"

namespace tandem::device_test {
namespace {

using test::card_processes;
using test::stop;

using device::AggregationResult;
using device::AggregationShape;
using device::AggregationSource;
using device::AggregationUnit;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(60);

// Sources of random positions and values.
struct Case {
  AggregationShape shape;
  std::vector<std::vector<std::uint32_t>> positions;
  std::vector<std::vector<std::byte>> values;

  Case(std::uint64_t num_positions, DType type, bool maximum) {
    shape.num_positions = num_positions;
    shape.type = type;
    shape.maximum = maximum;
  }

  void add(std::size_t count, std::mt19937_64& random) {
    std::set<std::uint32_t> chosen;
    std::uniform_int_distribution<std::uint64_t> place(0, shape.num_positions - 1);
    while (chosen.size() < count) chosen.insert(static_cast<std::uint32_t>(place(random)));
    positions.emplace_back(chosen.begin(), chosen.end());
    auto& bytes = values.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t whole = random();
      const float rough = std::normal_distribution<float>()(random);
      const auto* from = shape.type == DType::kU64 ? reinterpret_cast<const std::byte*>(&whole)
                                                   : reinterpret_cast<const std::byte*>(&rough);
      bytes.insert(bytes.end(), from, from + dtype_block_bytes(shape.type));
    }
    ++shape.num_sources;
    shape.num_entries += count;
  }

  std::vector<AggregationSource> sources() const {
    std::vector<AggregationSource> all;
    for (std::size_t s = 0; s < positions.size(); ++s) all.push_back({positions[s], values[s]});
    return all;
  }

  AggregationResult on(AggregationUnit& unit,
                       Deadline deadline = Deadline::after(kPatience)) const {
    return unit.aggregate(shape, sources(), deadline);
  }
};

template <typename T>
void expect_sums(const Case& c, const AggregationResult& result) {
  std::map<std::uint32_t, T> want;
  for (std::size_t s = 0; s < c.positions.size(); ++s) {
    for (std::size_t i = 0; i < c.positions[s].size(); ++i) {
      T value;
      std::memcpy(&value, c.values[s].data() + i * sizeof(T), sizeof(T));
      const auto [at, fresh] = want.emplace(c.positions[s][i], value);
      if (fresh) continue;
      at->second = c.shape.maximum ? std::max(at->second, value) : at->second + value;
    }
  }
  ASSERT_EQ(result.positions.size(), want.size());
  ASSERT_EQ(result.values.size(), want.size() * sizeof(T));
  std::size_t i = 0;
  for (const auto& [position, sum] : want) {
    ASSERT_EQ(result.positions[i], position);
    ASSERT_EQ(std::memcmp(result.values.data() + i * sizeof(T), &sum, sizeof(T)), 0) << position;
    ++i;
  }
}

void expect_sums(const Case& c, const AggregationResult& result) {
  c.shape.type == DType::kU64 ? expect_sums<std::uint64_t>(c, result)
                              : expect_sums<float>(c, result);
}

class XrtAggregationUnitTest : public ::testing::Test {
 protected:
  std::unique_ptr<AggregationUnit> make_unit(int card = 0) {
    devices_.push_back(device::xrt_backend().open(card, {}));
    return devices_.back()->make_aggregation_unit();
  }

  Case typical(DType type = DType::kF32) {
    Case c(20'000, type, false);
    for (const std::size_t count : {2000, 0, 700}) c.add(count, random_);
    return c;
  }

  std::vector<std::unique_ptr<device::Device>> devices_;
  std::mt19937_64 random_{17};
};

TEST_F(XrtAggregationUnitTest, GivesTheBitsOfALoopOverTheSources) {
  const auto unit = make_unit();
  EXPECT_EQ(unit->name(), "xrt:0");
  for (const DType type : {DType::kF32, DType::kU64}) {
    for (const bool maximum : {false, true}) {
      for (const std::uint64_t positions : {1ull, 513ull, 20'000ull, 3'000'000ull, 1ull << 32}) {
        Case c(positions, type, maximum);
        const std::size_t most = positions >> 32 != 0 ? 40 : positions;  // a tile for each
        for (const std::size_t count : {900, 0, 1, 3000, 400}) {
          c.add(std::min(count, most), random_);
        }
        SCOPED_TRACE(positions);
        expect_sums(c, c.on(*unit));
      }
    }
  }
}

TEST_F(XrtAggregationUnitTest, UsesAllUnitsWhereThatPays) {
  const auto unit = make_unit();
  Case c(500'000, DType::kF32, false);
  for (int s = 0; s < 2; ++s) c.add(40'000, random_);
  const AggregationResult result = c.on(*unit);
  expect_sums(c, result);
  // Everything in, nearly everything out, over the link.
  const double bytes = 8.0 * static_cast<double>(c.shape.num_entries) * 1.5;
  const double link = unit->capacity().link_bandwidth_bytes_per_s;
  ASSERT_GT(link, 0);
  EXPECT_GT(result.modelled_seconds, bytes / link);
  EXPECT_LT(result.modelled_seconds, bytes / link + 5e-3);
}

TEST_F(XrtAggregationUnitTest, ReusesItsBuffersForCallsOfAnySize) {
  const auto unit = make_unit();
  for (const std::size_t count : {10, 5000, 0, 300, 20'000, 1}) {
    Case c(40'000, DType::kU64, false);
    c.add(count, random_);
    c.add(count / 2, random_);
    const AggregationResult result = c.on(*unit);
    expect_sums(c, result);
    EXPECT_EQ(result.modelled_seconds > 0, count > 0);
  }
}

TEST_F(XrtAggregationUnitTest, BringsTheRestWhereTheUnionIsLargerThanExpected) {
  const auto unit = make_unit();
  Case c(10'000, DType::kF32, false);  // disjoint; at random half of them would meet
  c.shape.num_sources = 2;
  c.shape.num_entries = 10'000;
  c.positions.resize(2);
  c.values.resize(2);
  for (std::uint32_t position = 0; position < 10'000; ++position) {
    c.positions[position % 2].push_back(position);
    const float value = static_cast<float>(position);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    c.values[position % 2].insert(c.values[position % 2].end(), bytes, bytes + 4);
  }
  expect_sums(c, c.on(*unit));
}

TEST_F(XrtAggregationUnitTest, SaysWhatItCannotDo) {
  const auto unit = make_unit();
  AggregationShape shape = typical().shape;
  EXPECT_EQ(unit->refusal(shape), "");
  const auto refused = [&](auto&& change) {
    AggregationShape other = shape;
    change(other);
    EXPECT_NE(unit->refusal(other), "");
    EXPECT_THROW(unit->aggregate(other, {}, Deadline::after(kPatience)), Error);
  };
  refused([](AggregationShape& s) { s.type = DType::kF64; });
  refused([](AggregationShape& s) { s.num_positions = (1ull << 32) + 1; });
  refused([](AggregationShape& s) { s.num_positions = 0; });
  refused([](AggregationShape& s) { s.num_sources = 0; });
  refused([](AggregationShape& s) { s.num_sources = 1025; });
  refused([&](AggregationShape& s) { s.num_entries = unit->capacity().max_entries + 1; });
  EXPECT_GT(unit->capacity().max_entries, 1'000'000u);
  const Case c = typical();
  expect_sums(c, c.on(*unit));
}

TEST_F(XrtAggregationUnitTest, RefusesBadPositionsAndGoesOn) {
  const auto unit = make_unit();
  const auto message = [&](const Case& c) {
    try {
      c.on(*unit);
    } catch (const DeviceError&) {
      return std::string("the card was lost");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  Case twice = typical();
  twice.positions[2][300] = twice.positions[2][299];  // only the kernel sees this
  EXPECT_NE(message(twice).find("source 2"), std::string::npos) << message(twice);
  Case backwards = typical();
  std::swap(backwards.positions[0].front(), backwards.positions[0].back());
  EXPECT_NE(message(backwards).find("source 0"), std::string::npos) << message(backwards);
  Case beyond = typical();
  beyond.positions[0].back() = 20'000;
  EXPECT_NE(message(beyond).find("source 0"), std::string::npos);
  Case ragged = typical();
  ragged.values[0].pop_back();
  EXPECT_NE(message(ragged).find("source 0"), std::string::npos);
  Case miscounted = typical();
  ++miscounted.shape.num_entries;
  EXPECT_NE(message(miscounted), "");
  const Case good = typical();
  expect_sums(good, good.on(*unit));
}

TEST_F(XrtAggregationUnitTest, AFullMemoryIsADeviceErrorThatLosesNothing) {
  const auto unit = make_unit();
  xrt::device card(0u);
  const auto image = card.load_xclbin(std::string(TANDEM_AGGREGATION_XCLBIN));
  std::vector<xrt::bo> taken;
  constexpr int kInput = 0, kResult = 3;
  for (const int argument : {kInput, kResult}) {
    const xrt::kernel kernel(card, image, "sparse_aggregation:{sparse_aggregation_1}");
    for (std::size_t bytes = std::size_t{1} << 28; bytes >= 4096;) {
      try {
        taken.emplace_back(card, bytes, kernel.group_id(argument));
      } catch (const std::exception&) {
        bytes /= 2;
      }
    }
  }
  Case c(3'000'000, DType::kF32, false);
  c.add(200'000, random_);
  EXPECT_THROW(c.on(*unit), DeviceError);
  taken.clear();
  expect_sums(c, c.on(*unit));
}

TEST_F(XrtAggregationUnitTest, AKilledCardIsLostForEverAndTheOtherGoesOn) {
  auto unit = make_unit(0);
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const auto other = make_unit(1);
  const Case c = typical();
  expect_sums(c, c.on(*unit));
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  EXPECT_THROW(c.on(*unit), DeviceError);
  EXPECT_THROW(c.on(*unit), DeviceError);
  expect_sums(c, c.on(*other));
  unit.reset();
}

TEST_F(XrtAggregationUnitTest, AStoppedCardIsLostAtTheDeadline) {
  auto unit = make_unit();
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const Case c = typical();
  stop(cards[0]);
  EXPECT_THROW(c.on(*unit, Deadline::after(milliseconds(20))), DeviceError);
  EXPECT_THROW(c.on(*unit), DeviceError);  // at once, although its deadline is a minute away
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  unit.reset();
}

// As for ranks that are threads: each opens the card itself.
TEST_F(XrtAggregationUnitTest, SeveralThreadsShareACard) {
  std::vector<Case> cases;
  for (int i = 0; i < 4; ++i) cases.push_back(typical(i % 2 == 0 ? DType::kF32 : DType::kU64));
  std::vector<std::thread> threads;
  for (const Case& c : cases) {
    threads.emplace_back([&c] {
      const auto device = device::xrt_backend().open(0, {});
      const auto unit = device->make_aggregation_unit();
      for (int call = 0; call < 5; ++call) expect_sums(c, c.on(*unit));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(XrtAggregationUnitTest, TakesTurnsWithAttentionOnACard) {
  for (int turn = 0; turn < 2; ++turn) {
    auto device = device::xrt_backend().open(0, {.values = {{"xclbin", kernel_image()}}});
    const device::AttentionGeometry geometry = {
        .num_layers = 1, .q_heads = 2, .kv_heads = 2, .head_dim = 32, .page_tokens = 16};
    device->make_attention_unit({.geometry = geometry, .max_pages = 4});
    const auto unit = device->make_aggregation_unit();
    const Case c = typical();
    expect_sums(c, c.on(*unit));
  }
}

TEST(XrtAggregationImage, IsNamedWhenItCannotBeUsed) {
  const auto message = [](const std::string& image) {
    device::DeviceOptions options;
    options.values.set("aggregation-xclbin", image);
    try {
      device::xrt_backend().open(0, options)->make_aggregation_unit();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("/nowhere/a.xclbin").find("/nowhere/a.xclbin"), std::string::npos);
  EXPECT_NE(message(TANDEM_VECTOR_ADD_XCLBIN).find("bitstreams/recipes/sparse_aggregation"),
            std::string::npos);
}

TEST(XrtAggregationImage, IsSaidToExistByTheDevice) {
  for (const auto& info : device::xrt_backend().enumerate({})) {
    EXPECT_TRUE(info.makes_aggregation);
  }
}

}  // namespace
}  // namespace tandem::device_test
