// SPDX-License-Identifier: Apache-2.0
//
// The CPU as aggregator, and a device as one: the entries passed to the unit, the results, and the
// fallback if the unit fails. The unit here is a map that counts its calls and fails on demand;
// card_aggregator_test.cpp tests a card's.
#include "collectives/aggregator/aggregator.h"

#include <map>
#include <optional>
#include <utility>

#include "common/error.h"
#include "host/collectives/aggregator/random_parts.h"

namespace tandem::collectives {
namespace {

using test::expect_same_bits;
using test::random_part;

constexpr auto kPatience = std::chrono::seconds(60);

class MapUnit final : public device::AggregationUnit {
 public:
  struct Behaviour {
    int num_calls = 0;
    std::string refuses;
    bool fails = false, lies = false;
    std::optional<std::vector<std::uint32_t>> positions;  // instead of the true ones
    device::AggregationShape shape;
    std::chrono::duration<double> time_given{};
  };

  explicit MapUnit(Behaviour& behaviour) : behaviour_(behaviour) {}
  std::string name() const override { return "map:0"; }
  device::AggregationCapacity capacity() const override { return {}; }
  std::string refusal(const device::AggregationShape& shape) const override {
    if (shape.type == DType::kF64) return "no f64";
    return behaviour_.refuses;
  }

  device::AggregationResult aggregate(const device::AggregationShape& shape,
                                      std::span<const device::AggregationSource> sources,
                                      Deadline deadline) override {
    ++behaviour_.num_calls;
    behaviour_.shape = shape;
    behaviour_.time_given = deadline.remaining();
    if (behaviour_.fails) throw DeviceError("map", "told to fail");
    positions_.clear();
    values_.clear();
    if (shape.type == DType::kU64) {
      reduce<std::uint64_t>(shape, sources);
    } else {
      reduce<float>(shape, sources);
    }
    if (behaviour_.lies && !positions_.empty()) positions_.pop_back();
    if (behaviour_.positions) {
      positions_ = *behaviour_.positions;
      values_.resize(positions_.size() * dtype_block_bytes(shape.type));
    }
    return {positions_, values_, 0.25};
  }

 private:
  template <typename T>
  void reduce(const device::AggregationShape& shape,
              std::span<const device::AggregationSource> sources) {
    std::map<std::uint32_t, T> sums;
    for (const auto& source : sources) {
      for (std::size_t i = 0; i < source.positions.size(); ++i) {
        T value;
        std::memcpy(&value, source.values.data() + i * sizeof(T), sizeof(T));
        EXPECT_LT(source.positions[i], shape.num_positions);
        const auto [at, fresh] = sums.emplace(source.positions[i], value);
        if (fresh) continue;
        at->second =
            reduce_values(shape.maximum ? Reduction::kMax : Reduction::kSum, at->second, value);
      }
    }
    for (const auto& [position, sum] : sums) {
      positions_.push_back(position);
      const auto* bytes = reinterpret_cast<const std::byte*>(&sum);
      values_.insert(values_.end(), bytes, bytes + sizeof(T));
    }
  }

  Behaviour& behaviour_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::byte> values_;
};

class DeviceAggregatorTest : public ::testing::Test {
 protected:
  std::vector<SparseVector> parts(Domain domain, DType type) {
    std::vector<SparseVector> all;
    for (const std::size_t count : {200, 0, 1, 350}) {
      all.push_back(random_part(domain, type, count, random_));
    }
    return all;
  }

  void expect_merged(Domain domain, DType type, Reduction reduction) {
    const auto given = parts(domain, type);
    expect_same_bits(aggregator_->aggregate(given, reduction, Deadline::after(kPatience)),
                     merge(given, reduction));
  }

  std::mt19937_64 random_{23};
  MapUnit::Behaviour unit_;
  std::unique_ptr<Aggregator> aggregator_ =
      make_device_aggregator(std::make_unique<MapUnit>(unit_));
};

TEST_F(DeviceAggregatorTest, GivesTheBitsOfMerge) {
  EXPECT_EQ(aggregator_->name(), "map:0");
  int calls = 0;
  for (const DType type : {DType::kF32, DType::kU64}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax}) {
      for (const std::uint32_t width : {1u, 3u, 64u}) {
        expect_merged({1000, width}, type, reduction);
        EXPECT_EQ(unit_.num_calls, ++calls);
        EXPECT_EQ(unit_.shape.num_positions, 1000u * width);
        EXPECT_EQ(unit_.shape.num_entries, 551u * width);
        EXPECT_EQ(unit_.shape.num_sources, 4u);
        EXPECT_EQ(unit_.shape.maximum, reduction == Reduction::kMax);
      }
    }
  }
  EXPECT_EQ(aggregator_->statistics().num_fallbacks, 0u);
}

TEST_F(DeviceAggregatorTest, CountsWhatItDid) {
  const auto given = parts({500, 2}, DType::kF32);
  const SparseVector sum =
      aggregator_->aggregate(given, Reduction::kSum, Deadline::after(kPatience));
  const AggregatorStatistics statistics = aggregator_->statistics();
  EXPECT_EQ(statistics.num_aggregations, 1u);
  EXPECT_EQ(statistics.num_entries_in, 551u);
  EXPECT_EQ(statistics.num_entries_out, sum.num_entries());
  EXPECT_EQ(statistics.modelled_seconds, 0.25);
  EXPECT_GT(statistics.measured_seconds, 0);
}

TEST_F(DeviceAggregatorTest, LeavesToTheCpuWhatTheUnitRefuses) {
  expect_merged({1000, 1}, DType::kF64, Reduction::kSum);
  expect_merged({std::uint64_t{1} << 40, 1}, DType::kF32, Reduction::kSum);
  unit_.refuses = "not today";
  expect_merged({1000, 1}, DType::kF32, Reduction::kSum);
  EXPECT_EQ(unit_.num_calls, 0);
  EXPECT_EQ(aggregator_->statistics().num_fallbacks, 3u);
  unit_.refuses.clear();
  expect_merged({1000, 1}, DType::kF32, Reduction::kSum);
  EXPECT_EQ(unit_.num_calls, 1);
}

TEST_F(DeviceAggregatorTest, FallsBackWhenTheUnitFailsAndDoesNotAskItAgain) {
  unit_.fails = true;
  expect_merged({1000, 5}, DType::kF32, Reduction::kSum);
  expect_merged({1000, 1}, DType::kU64, Reduction::kMax);
  EXPECT_EQ(unit_.num_calls, 1);
  EXPECT_EQ(aggregator_->statistics().num_fallbacks, 2u);
  EXPECT_EQ(aggregator_->statistics().modelled_seconds, 0);
}

TEST_F(DeviceAggregatorTest, DoesNotBelieveRowsThatAreNotWhole) {
  unit_.lies = true;
  expect_merged({1000, 5}, DType::kF32, Reduction::kSum);
  EXPECT_EQ(aggregator_->statistics().num_fallbacks, 1u);
}

TEST_F(DeviceAggregatorTest, DoesNotBelievePositionsOutsideTheDomainOrOutOfOrder) {
  const std::vector<std::vector<std::uint32_t>> lies_of_values = {
      {3, 1000}, {0xffffffffu}, {7, 3}, {5, 5}, {0, 9, 8}};
  const std::vector<std::vector<std::uint32_t>> lies_of_rows = {
      {0, 2, 2}, {0, 1, 1}, {1, 2, 3}, {3, 4, 5, 0, 1, 2}, {3, 4, 5, 3, 4, 5}, {3000, 3001, 3002}};
  std::uint64_t num_lies = 0;
  for (const auto& [lies, width] : {std::pair(&lies_of_values, 1u), std::pair(&lies_of_rows, 3u)}) {
    for (const auto& positions : *lies) {
      unit_.positions = positions;
      expect_merged({1000, width}, DType::kF32, Reduction::kSum);
      EXPECT_EQ(aggregator_->statistics().num_fallbacks, ++num_lies);
    }
  }
  EXPECT_EQ(aggregator_->statistics().modelled_seconds, 0);
}

TEST_F(DeviceAggregatorTest, LeavesTimeForTheCpu) {
  const auto given = parts({500, 1}, DType::kF32);
  aggregator_->aggregate(given, Reduction::kSum, Deadline::after(std::chrono::hours(2)));
  EXPECT_LE(unit_.time_given, std::chrono::hours(1));
  EXPECT_GT(unit_.time_given, std::chrono::minutes(50));
}

// A unit that reads memory of its own device in place.
class InPlaceUnit final : public device::AggregationUnit {
 public:
  std::string name() const override { return "fake:0"; }
  device::AggregationCapacity capacity() const override { return {}; }
  std::string refusal(const device::AggregationShape&) const override { return ""; }
  bool accepts(const Placement& placement) const override {
    return placement.on_host() || placement.device == "fake:0";
  }
  device::AggregationResult aggregate(const device::AggregationShape&,
                                      std::span<const device::AggregationSource> sources,
                                      Deadline) override {
    check_placements(*this, sources);
    return {sources.front().positions, sources.front().values, 0};
  }
};

TEST(AggregationUnit, TakesMemoryThatItAcceptsAndRefusesOther) {
  const std::vector<std::uint32_t> positions = {2, 5};
  const std::vector<float> values = {1, 2};
  const auto source_at = [&](const Placement& placement) {
    return device::AggregationSource{positions, std::as_bytes(std::span(values)), placement};
  };
  const auto error_of = [&](device::AggregationUnit& unit, const Placement& placement) {
    const device::AggregationSource sources[] = {source_at({}), source_at(placement)};
    const device::AggregationShape shape{10, DType::kF32, false, 2, 4};
    try {
      unit.aggregate(shape, sources, Deadline::after(kPatience));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  InPlaceUnit in_place;
  int queue = 0;
  EXPECT_EQ(error_of(in_place, {}), "");
  EXPECT_EQ(error_of(in_place, {Memory::kDevice, "fake:0", &queue}), "");
  EXPECT_NE(error_of(in_place, {Memory::kDevice, "fake:1", nullptr}).find("memory of fake:1"),
            std::string::npos);
  MapUnit::Behaviour behaviour;
  const MapUnit host_only(behaviour);
  EXPECT_TRUE(host_only.accepts({}));
  EXPECT_FALSE(host_only.accepts({Memory::kDevice, "map:0", nullptr}));
}

TEST(CpuAggregator, MergesAndCounts) {
  std::mt19937_64 random(1);
  const std::vector<SparseVector> parts = {random_part({100, 1}, DType::kF64, 30, random),
                                           random_part({100, 1}, DType::kF64, 50, random)};
  const auto cpu = make_cpu_aggregator();
  EXPECT_EQ(cpu->name(), "cpu");
  expect_same_bits(cpu->aggregate(parts, Reduction::kSum, Deadline::after(kPatience)),
                   merge(parts, Reduction::kSum));
  EXPECT_EQ(cpu->statistics().num_entries_in, 80u);
  EXPECT_EQ(cpu->statistics().num_fallbacks, 0u);
}

}  // namespace
}  // namespace tandem::collectives
