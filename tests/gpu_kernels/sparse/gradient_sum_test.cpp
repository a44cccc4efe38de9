// SPDX-License-Identifier: Apache-2.0
//
// A gradient added to a residual, and its moments, against plain loops (sums in long double) and
// the loops of the sparsifiers on the CPU.
#include "sparse/gradient_sum.h"

#include <algorithm>
#include <bit>

#include "collectives/sparsifier/selection_kernels.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/gradient_values.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Given {
  std::vector<float> residual, velocity;  // empty: none
  AccumulateGradient options;             // without pointers
};

struct Added {
  std::vector<float> residual, velocity;
  GradientMeasurement measurement;
};

template <typename Wire>
Added add(const std::vector<Wire>& gradient, ValueType type, const Given& given,
          std::size_t skipped = 0) {
  DeviceArray<Wire> device(gradient);
  DeviceArray<float> residual(given.residual), velocity(given.velocity);
  DeviceArray<GradientMeasurement> measurement(1);
  AccumulateGradient job = given.options;
  job.num_values = gradient.size() - skipped;
  DeviceArray<unsigned char> workspace(accumulate_workspace_bytes(job.num_values));
  job.gradient = device.data() + skipped;
  job.type = type;
  job.residual = given.residual.empty() ? nullptr : residual.data() + skipped;
  job.velocity = given.velocity.empty() ? nullptr : velocity.data() + skipped;
  job.measurement = measurement.data();
  job.workspace = workspace.data();
  EXPECT_EQ(accumulate_gradient(job, nullptr), cudaSuccess);
  workspace.download();
  return {residual.download(), velocity.download(), measurement.download().front()};
}

// One rounding to f32: sums and products of two floats are rounded twice harmlessly.
float product(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
float sum(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}

// The same by plain loops; measured in long double.
Added naive(std::vector<float> gradient, const Given& given) {
  Added added{given.residual, given.velocity, {}};
  const AccumulateGradient& job = given.options;
  long double total = 0, total_signed = 0, squares = 0, logs = 0;
  GradientMeasurement& seen = added.measurement;
  seen = {0, 0, 0, 0, 0, 0, kAllFinite, 0, kInfinity};
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float value = gradient[i];
    if (job.clips) {
      value = std::isnan(value) ? 0.0f : std::clamp(value, -job.clip_at, job.clip_at);
    }
    if (!given.velocity.empty()) {
      float& u = added.velocity[i];
      value = u = sum(product(job.momentum, u), product(job.scale, value));
    }
    if (!given.residual.empty()) {
      float& v = added.residual[i];
      value = v = sum(product(job.decay, v), value);
    }
    if (!std::isfinite(value)) {
      seen.first_non_finite = std::min<std::uint64_t>(seen.first_non_finite, i);
      continue;
    }
    const long double magnitude = std::fabs(value);
    if (magnitude < job.least) continue;
    total += magnitude;
    total_signed += value;
    squares += magnitude * magnitude;
    ++seen.count;
    seen.largest = std::max(seen.largest, std::fabs(value));
    seen.smallest = std::min(seen.smallest, std::fabs(value));
    if (!job.logarithms || std::fabs(value) < std::numeric_limits<float>::min()) continue;
    ++seen.positive;
    logs += std::log(magnitude);
  }
  seen.sum = static_cast<double>(total);
  seen.signed_sum = static_cast<double>(total_signed);
  seen.squares = static_cast<double>(squares);
  seen.log_sum = static_cast<double>(logs);
  return added;
}

std::vector<std::uint32_t> bits_of_all(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) {  // NaNs of an addition differ in their payload
    bits.push_back(std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

void expect_same(const GradientMeasurement& got, const GradientMeasurement& expected) {
  const auto near = [](double a, double b, double scale) {
    return std::fabs(a - b) <= 1e-12 * scale + 1e-300;
  };
  EXPECT_EQ(got.count, expected.count);
  EXPECT_EQ(got.positive, expected.positive);
  EXPECT_EQ(got.first_non_finite, expected.first_non_finite);
  EXPECT_EQ(got.largest, expected.largest);
  EXPECT_EQ(got.smallest, expected.smallest);
  EXPECT_TRUE(near(got.sum, expected.sum, expected.sum)) << got.sum << " " << expected.sum;
  EXPECT_TRUE(near(got.signed_sum, expected.signed_sum, expected.sum));
  EXPECT_TRUE(near(got.squares, expected.squares, expected.squares));
  EXPECT_TRUE(near(got.log_sum, expected.log_sum, 100.0 * static_cast<double>(got.positive)))
      << got.log_sum << " " << expected.log_sum;
}

void expect_same(const Added& got, const Added& expected) {
  ASSERT_EQ(bits_of_all(got.residual), bits_of_all(expected.residual));
  ASSERT_EQ(bits_of_all(got.velocity), bits_of_all(expected.velocity));
  expect_same(got.measurement, expected.measurement);
}

TEST_P(KernelTest, AddsAGradientWithTheBitsOfALoopAndMeasuresTheSum) {
  for (const Values kind : kAllValues) {
    for (const std::size_t size : kGradientSizes) {
      SCOPED_TRACE(testing::Message() << size << " of kind " << static_cast<int>(kind));
      const auto gradient = gradient_values(kind, size, 1);
      Given given{gradient_values(Values::kLaplace, size, 2), {}, {}};
      given.options.logarithms = true;
      const Added got = add(gradient, ValueType::kF32, given);
      expect_same(got, naive(gradient, given));
      std::vector<float> on_cpu = given.residual;
      collectives::add_gradient(on_cpu.data(), gradient.data(), size);
      ASSERT_EQ(bits_of_all(got.residual), bits_of_all(on_cpu));
    }
  }
}

TEST_P(KernelTest, MeasuresAGradientAloneAsTheCpuDoes) {
  for (const Values kind : {Values::kLaplace, Values::kTies, Values::kZeros, Values::kSubnormal}) {
    for (const std::size_t size : kGradientSizes) {
      const auto gradient = gradient_values(kind, size, 3);
      Given given;
      given.options.logarithms = true;
      const Added got = add(gradient, ValueType::kF32, given);
      expect_same(got, naive(gradient, given));
      collectives::Moments on_cpu;
      for (std::size_t first = 0; first < size; first += 4096) {
        on_cpu.add(collectives::measure_moments(gradient.data() + first,
                                                std::min<std::size_t>(4096, size - first),
                                                collectives::Logarithms::kYes));
      }
      expect_same(got.measurement,
                  {on_cpu.sum, on_cpu.signed_sum, on_cpu.squares, on_cpu.log_sum, on_cpu.count,
                   on_cpu.positive, kAllFinite, on_cpu.largest, got.measurement.smallest});
    }
  }
}

TEST_P(KernelTest, CorrectsByMomentumAndDecayWithOneRoundingEach) {
  for (const std::size_t size : kGradientSizes) {
    const auto gradient = gradient_values(Values::kLaplace, size, 4);
    Given given{
        gradient_values(Values::kLaplace, size, 5), gradient_values(Values::kLaplace, size, 6), {}};
    given.options.momentum = 0.9f;
    given.options.scale = 0.3f;
    given.options.decay = 0.95f;
    const Added got = add(gradient, ValueType::kF32, given);
    expect_same(got, naive(gradient, given));
    // The CPU may fuse a product and an addition.
    std::vector<float> velocity = given.velocity, on_cpu = got.residual;
    collectives::add_velocity({0.9f, 0.3f}, velocity.data(), on_cpu.data(), gradient.data(), size);
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(got.velocity[i], velocity[i], 1e-8f);
  }
}

TEST_P(KernelTest, ReadsHalvesAndTakesAnyAlignment) {
  for (const std::size_t size : {1, 33, 1000, 20'001}) {
    const auto values = gradient_values(Values::kLaplace, size, 7);
    for (const ValueType type : {ValueType::kF16, ValueType::kBF16}) {
      std::vector<std::uint16_t> halves;
      std::vector<float> widened;
      for (const float value : values) {
        halves.push_back(type == ValueType::kF16 ? f32_to_f16(value) : f32_to_bf16(value));
        widened.push_back(type == ValueType::kF16 ? f16_to_f32(halves.back())
                                                  : bf16_to_f32(halves.back()));
      }
      Given given{gradient_values(Values::kLaplace, size, 8), {}, {}};
      given.options.logarithms = true;
      const Added expected = naive(widened, given);
      expect_same(add(halves, type, given), expected);
    }
    for (const std::size_t skipped : {1, 2, 3}) {
      if (skipped >= size) continue;
      const auto residual = gradient_values(Values::kFewMagnitudes, size, 9);
      const Added got = add(values, ValueType::kF32, {residual, {}, {}}, skipped);
      const auto behind = [&](const std::vector<float>& all) {
        return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(skipped), all.end());
      };
      const Added expected = naive(behind(values), {behind(residual), {}, {}});
      ASSERT_EQ(behind(got.residual), expected.residual);
      ASSERT_EQ(got.residual[skipped - 1], residual[skipped - 1]);
      expect_same(got.measurement, expected.measurement);
    }
  }
}

TEST_P(KernelTest, NamesTheFirstPlaceThatIsNotFinite) {
  std::vector<float> gradient(30'000, 1.0f);
  const std::vector<float> residual(gradient.size(), std::numeric_limits<float>::max());
  for (const std::size_t place : {29'999, 16'384, 8192, 8191, 33, 0}) {
    gradient[place] = place % 2 == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(add(gradient, ValueType::kF32, {}).measurement.first_non_finite, place);
  }
  // A sum of finite values can be infinite.
  std::vector<float> large(gradient.size(), 1.0f);
  large[777] = std::numeric_limits<float>::max();
  EXPECT_EQ(add(large, ValueType::kF32, {residual, {}, {}}).measurement.first_non_finite, 777u);
}

TEST_P(KernelTest, ClipsToTheLargestFiniteMagnitude) {
  const auto gradient = gradient_values(Values::kNonFinite, 10'000, 10);
  const float largest = add(gradient, ValueType::kF32, {}).measurement.largest;
  ASSERT_TRUE(std::isfinite(largest) && largest > 0);
  Given given{std::vector<float>(gradient.size(), 1.0f), {}, {}};
  given.options.clips = true;
  given.options.clip_at = largest;
  const Added got = add(gradient, ValueType::kF32, given);
  expect_same(got, naive(gradient, given));
  EXPECT_EQ(got.measurement.first_non_finite, kAllFinite);
}

TEST_P(KernelTest, MeasuresTheSurvivorsOfAThresholdOnly) {
  for (const Values kind : kAllValues) {
    for (const float least : {-1.0f, 0x1p-149f, 0.01f, 0.7f, kInfinity}) {
      const auto gradient = gradient_values(kind, 1000, 11);
      Given given;
      given.options.least = least;
      expect_same(add(gradient, ValueType::kF32, given), naive(gradient, given));
    }
  }
  Given none;
  none.options.least = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(add(std::vector<float>(100, 1.0f), ValueType::kF32, none).measurement.count, 0u);
}

TEST_P(KernelTest, AnEmptyGradientMeasuresNothingAndOtherTypesAreRefused) {
  expect_same(add(std::vector<float>{}, ValueType::kF32, {}), naive({}, {}));
  AccumulateGradient job;
  job.type = ValueType::kF64;
  EXPECT_EQ(accumulate_gradient(job, nullptr), cudaErrorInvalidValue);
  job.type = ValueType::kF32;
  job.num_values = std::uint64_t{1} << 32;
  EXPECT_EQ(accumulate_gradient(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
