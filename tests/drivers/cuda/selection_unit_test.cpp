// SPDX-License-Identifier: Apache-2.0
//
// The same calls to the selection units of a GPU and of the CPU: equal answers, and those of plain
// loops.
#include "device/selection_unit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "drivers/cuda/selection_devices.h"
#include "tensor/sparse/packed_chunk.h"

namespace tandem::device {
namespace {

class SelectionUnitTest : public SelectionDevices {};
INSTANTIATE_TEST_SUITE_P(Devices, SelectionUnitTest, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SelectionUnitTest, AddsGradientsSelectsTheLargeEntriesAndForgetsWhatWasSent) {
  constexpr std::size_t kSize = 20'001;
  const auto unit = make(kSize);
  ASSERT_TRUE(device_->info().makes_selection);
  Floats expected(kSize, 0.0f);
  for (unsigned step = 0; step < 3; ++step) {
    const Floats gradient = gradient_values(Values::kLaplace, kSize, step);
    for (std::size_t i = 0; i < kSize; ++i) expected[i] += gradient[i];
    const GradientMoments moments = unit->accumulate(view_of(gradient), {}, soon());
    ASSERT_EQ(residual_of(*unit), expected);
    double sum = 0;
    for (const float value : expected) sum += std::fabs(value);
    EXPECT_NEAR(moments.sum, sum, 1e-9 * sum);
    EXPECT_EQ(moments.count, kSize);
    EXPECT_FALSE(moments.first_non_finite);

    Places places;
    Floats values;
    for (std::uint32_t i = 0; i < kSize; ++i) {
      if (std::fabs(expected[i]) < 0.03f) continue;
      places.push_back(i);
      values.push_back(expected[i]);
    }
    const SelectedEntries found = unit->at_least({0, kSize}, 0.03f, soon());
    ASSERT_EQ(places_of(found), places);
    ASSERT_EQ(values_of(found), values);
    EXPECT_EQ(unit->counts_at_least({0, kSize}, Floats{0.03f, 0.0f}, soon()),
              (std::vector<std::uint64_t>{places.size(), kSize}));
    unit->clear_at(places, soon());
    for (const std::uint32_t place : places) expected[place] = 0;
    ASSERT_EQ(residual_of(*unit), expected);
  }
}

TEST_P(SelectionUnitTest, TakesTheTopOfARangeWithTheLowerPlaceOfEqualOnes) {
  const auto unit = make(10);
  unit->accumulate(view_of({9, -2, 2, 0, -3, 2, -2, 1, 3, 9}), {}, soon());
  EXPECT_EQ(places_of(unit->top({1, 9}, 4, soon())), (Places{1, 2, 4, 8}));
  EXPECT_EQ(values_of(unit->top({1, 9}, 3, soon())), (Floats{-2, -3, 3}));
  EXPECT_EQ(places_of(unit->top({3, 3}, 4, soon())), Places{});
  EXPECT_EQ(places_of(unit->top({0, 10}, 0, soon())), Places{});
  EXPECT_EQ(unit->top({2, 7}, 100, soon()).indices.size(), 5u);
  EXPECT_EQ(places_of(unit->at_least({2, 9}, 3, soon())), (Places{4, 8}));
}

TEST_P(SelectionUnitTest, AResultThatOutgrowsTheRoomOfEarlierOnesIsWhole) {
  constexpr std::size_t kSize = 30'000;
  const auto unit = make(kSize);
  const Floats gradient = gradient_values(Values::kTies, kSize, 4);
  unit->accumulate(view_of(gradient), {}, soon());
  EXPECT_EQ(unit->at_least({100, 120}, 0, soon()).indices.size(), 20u);
  const SelectedEntries all = unit->at_least({0, kSize}, 0.5f, soon());
  ASSERT_EQ(all.indices.size(), kSize);
  EXPECT_EQ(values_of(all), gradient);
  for (std::uint32_t i = 0; i < kSize; ++i) ASSERT_EQ(all.indices[i], i);
}

TEST_P(SelectionUnitTest, MeasuresClipsAndCorrectsByMomentum) {
  constexpr std::size_t kSize = 1000;
  const auto unit = make(kSize, true);
  Floats gradient(kSize, 0.5f);
  gradient[700] = -std::numeric_limits<float>::infinity();
  gradient[31] = std::numeric_limits<float>::quiet_NaN();
  gradient[5] = 2;
  const GradientMoments seen = memory()->measure(view_of(gradient), soon());
  EXPECT_EQ(seen.first_non_finite, 31u);
  EXPECT_EQ(seen.largest, 2);
  EXPECT_EQ(seen.count, kSize - 2);
  EXPECT_EQ(residual_of(*unit), Floats(kSize, 0.0f)) << "measure() changes nothing";

  AccumulateStep step;
  step.momentum = 0.5f;
  step.scale = 2;
  step.decay = 0.25f;
  step.logarithms = true;
  step.clip_at = seen.largest;
  Floats velocity(kSize, 0.0f), residual(kSize, 0.0f);
  for (int i = 0; i < 2; ++i) {
    const GradientMoments added = unit->accumulate(view_of(gradient), step, soon());
    EXPECT_FALSE(added.first_non_finite);
    EXPECT_EQ(added.positive, kSize - 1);  // place 31 is 0
    for (std::size_t at = 0; at < kSize; ++at) {
      const float g = at == 31 ? 0.0f : at == 700 ? -2.0f : gradient[at];
      velocity[at] = 0.5f * velocity[at] + 2 * g;
      residual[at] = 0.25f * residual[at] + velocity[at];
    }
  }
  Floats got(kSize), got_velocity(kSize);
  unit->save({got, got_velocity}, soon());
  EXPECT_EQ(got, residual);
  EXPECT_EQ(got_velocity, velocity);
  unit->clear_at(Places{700, 5}, soon());
  unit->save({got, got_velocity}, soon());
  EXPECT_EQ(got[700], 0);
  EXPECT_EQ(got_velocity[5], 0) << "the velocity is cleared too";
  EXPECT_EQ(got_velocity[6], velocity[6]);
}

TEST_P(SelectionUnitTest, MeasuresTheSurvivorsOfAThresholdInARange) {
  const auto unit = make(6);
  unit->accumulate(view_of({9, -2, 2, 0, -3, 7}), {}, soon());
  const GradientMoments large = unit->moments_at_least({1, 5}, 2.0f, true, soon());
  EXPECT_EQ(large.count, 3u);
  EXPECT_EQ(large.sum, 7);
  EXPECT_EQ(large.signed_sum, -3);
  EXPECT_EQ(large.squares, 17);
  EXPECT_EQ(large.smallest, 2);
  EXPECT_EQ(large.largest, 3);
  EXPECT_EQ(large.positive, 3u);
  EXPECT_NEAR(large.log_sum, std::log(12.0), 1e-12);
  EXPECT_EQ(unit->moments_at_least({1, 5}, 2.0f, false, soon()).positive, 0u);
}

TEST_P(SelectionUnitTest, ReadsHalvesAsTheirFloats) {
  const Floats values = gradient_values(Values::kLaplace, 777, 8);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    std::vector<std::uint16_t> halves;
    Floats widened;
    for (const float value : values) {
      halves.push_back(type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value));
      widened.push_back(type == DType::kF16 ? f16_to_f32(halves.back())
                                            : bf16_to_f32(halves.back()));
    }
    const auto unit = make(values.size());
    unit->accumulate({std::as_bytes(std::span(halves)), type, {}}, {}, soon());
    EXPECT_EQ(residual_of(*unit), widened);
  }
}

TEST_P(SelectionUnitTest, ValuesAtPlacesAreReadAndAddedTo) {
  const auto unit = make(100);
  Floats gradient(100);
  for (std::size_t i = 0; i < 100; ++i) gradient[i] = static_cast<float>(i);
  unit->accumulate(view_of(gradient), {}, soon());
  const auto values = unit->values_at(Places{99, 0, 7}, soon());
  EXPECT_EQ(Floats(values.begin(), values.end()), (Floats{99, 0, 7}));
  EXPECT_TRUE(unit->values_at({}, soon()).empty());
  unit->add_at(Places{7, 99}, Floats{-7, 0.5f}, soon());
  EXPECT_EQ(residual_of(*unit)[7], 0);
  EXPECT_EQ(residual_of(*unit)[99], 99.5f);
}

TEST_P(SelectionUnitTest, AGradientInPiecesIsAddedWhereEachBegins) {
  constexpr std::size_t kSize = 9000;
  const auto whole = make(kSize, true), pieces = make(kSize, true);
  const Floats gradient = gradient_values(Values::kFewMagnitudes, kSize, 3);
  AccumulateStep step;
  step.momentum = 0.5f;
  for (int i = 0; i < 2; ++i) {
    step.first = 0;
    const GradientMoments all = whole->accumulate(view_of(gradient), step, soon());
    GradientMoments sum;
    for (const std::size_t count : {std::size_t{1}, std::size_t{4099}, std::size_t{4900}}) {
      const Floats piece(gradient.begin() + static_cast<std::ptrdiff_t>(step.first),
                         gradient.begin() + static_cast<std::ptrdiff_t>(step.first + count));
      const GradientMoments one = pieces->accumulate(view_of(piece), step, soon());
      sum.squares += one.squares;
      sum.count += one.count;
      step.first += count;
    }
    EXPECT_EQ(sum.count, all.count);
    EXPECT_NEAR(sum.squares, all.squares, 1e-9 * all.squares);
  }
  EXPECT_EQ(residual_of(*whole), residual_of(*pieces));
}

TEST_P(SelectionUnitTest, SquaresOfRangesAreThoseOfEachAlone) {
  constexpr std::size_t kSize = 30'000;
  const auto unit = make(kSize);
  unit->accumulate(view_of(gradient_values(Values::kLaplace, kSize, 2)), {}, soon());
  const SelectionRange ranges[] = {{0, kSize}, {5, 5}, {7, 8200}, {29'999, 30'000}};
  const std::vector<double> squares = unit->squares(ranges, soon());
  ASSERT_EQ(squares.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const double alone = unit->moments_at_least(ranges[i], 0, false, soon()).squares;
    EXPECT_NEAR(squares[i], alone, 1e-12 * alone) << i;
  }
  EXPECT_GT(squares[3], 0);
  EXPECT_TRUE(unit->squares({}, soon()).empty());
}

TEST_P(SelectionUnitTest, ChunksArePackedAsTheirLargestEntries) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{10'000}}) {
    const auto unit = make(size);
    const Floats gradient = gradient_values(Values::kTies, size, 4);
    unit->accumulate(view_of(gradient), {}, soon());
    const std::size_t last = (size - 1) % 4096 + 1;
    const auto count = static_cast<std::uint32_t>(size < 4096 ? last : 41);
    const auto last_count = static_cast<std::uint32_t>(std::min<std::size_t>(last, 18));
    const auto message = unit->pack_chunks(size % 4096 == 0 ? 18 : count, last_count, soon());
    std::vector<std::byte> expected;
    for (std::size_t begin = 0; begin < size; begin += 4096) {
      const std::size_t end = std::min(size, begin + 4096);
      const std::uint32_t entries = end == size ? last_count : count;
      std::vector<std::uint16_t> places;
      Floats values;
      const auto reference = make(size);
      reference->accumulate(view_of(gradient), {}, soon());
      const SelectedEntries top = reference->top({begin, end}, entries, soon());
      for (std::size_t i = 0; i < top.indices.size(); ++i) {
        places.push_back(static_cast<std::uint16_t>(top.indices[i] - begin));
        values.push_back(top.values[i]);
      }
      expected.resize(expected.size() + sparse::packed_chunk_bytes(entries));
      sparse::pack_chunk(places, values,
                         std::span(expected).last(sparse::packed_chunk_bytes(entries)));
    }
    EXPECT_TRUE(std::ranges::equal(message, expected)) << size;
  }
}

TEST_P(SelectionUnitTest, ASavedStateGoesOnElsewhereWithEqualBits) {
  constexpr std::size_t kSize = 500;
  const auto first = make(kSize, true), second = make(kSize, true);
  AccumulateStep step;
  step.momentum = 0.5f;
  first->accumulate(view_of(gradient_values(Values::kFewMagnitudes, kSize, 1)), step, soon());
  Floats residual(kSize), velocity(kSize);
  first->save({residual, velocity}, soon());
  second->load({residual, velocity}, soon());
  const Floats gradient = gradient_values(Values::kFewMagnitudes, kSize, 2);
  first->accumulate(view_of(gradient), step, soon());
  second->accumulate(view_of(gradient), step, soon());
  EXPECT_EQ(residual_of(*first), residual_of(*second));
}

TEST_P(SelectionUnitTest, WrongArgumentsAreErrorsThatNameThemAndChangeNothing) {
  using testing::HasSubstr;
  const auto unit = make(100);
  unit->accumulate(view_of(Floats(100, 1.0f)), {}, soon());
  const auto expect = [&](const std::function<void()>& call, const char* text) {
    EXPECT_THAT(error_of(call), HasSubstr(text));
  };
  expect([&] { make(0); }, "1 to 2^32 - 1 values, this one has 0");
  expect([&] { make(std::uint64_t{1} << 32); }, "1 to 2^32 - 1 values");
  expect([&] { unit->accumulate(view_of(Floats(101)), {}, soon()); }, "101 values");
  AccumulateStep late;
  late.first = 2;
  expect([&] { unit->accumulate(view_of(Floats(99)), late, soon()); }, "from place 2 on");
  expect([&] { unit->squares(std::vector<SelectionRange>{{0, 101}}, soon()); }, "from 0 to 101");
  expect([&] { unit->pack_chunks(5, 101, soon()); }, "101 in the last; it has 100");
  expect([&] { unit->pack_chunks(0, 1, soon()); }, "chunks of 0 entries");
  expect([&] { unit->at_least({5, 101}, 1, soon()); }, "from 5 to 101");
  expect([&] { unit->top({5, 4}, 1, soon()); }, "from 5 to 4");
  expect([&] { unit->counts_at_least({0, 101}, {}, soon()); }, "from 0 to 101");
  expect([&] { unit->moments_at_least({0, 101}, 0, false, soon()); }, "from 0 to 101");
  expect([&] { unit->values_at(Places{3, 100}, soon()); }, "place 100");
  expect([&] { unit->clear_at(Places{100}, soon()); }, "place 100");
  expect([&] { unit->add_at(Places{1}, Floats{1, 2}, soon()); }, "1 places with 2 values");
  expect([&] { unit->clear_at(Places(101, 1u), soon()); }, "places are unique");
  Floats dense(100), few(99);
  expect([&] { unit->save({few, {}}, soon()); }, "the residual has 99 values");
  expect([&] { unit->load({dense, dense}, soon()); }, "has no velocity");
  const Floats gradient(100);
  GradientView elsewhere = view_of(gradient);
  elsewhere.placement = {Memory::kDevice, "cuda:7", nullptr};
  expect([&] { unit->accumulate(elsewhere, {}, soon()); }, "cuda:7");
  EXPECT_EQ(residual_of(*unit), Floats(100, 1.0f));
}

}  // namespace
}  // namespace tandem::device
