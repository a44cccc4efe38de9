// SPDX-License-Identifier: Apache-2.0
//
// Angles, and bias, head norm and rotation of several targets, against double-precision loops.
#include "rope/rope.h"

#include <cmath>
#include <memory>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"
#include "rope/angles.h"

namespace tandem::gpu_kernels {
namespace {

std::vector<float> frequencies(std::size_t pairs, double base = 10000) {
  std::vector<float> values(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    values[i] =
        static_cast<float>(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return values;
}

std::vector<float> angles_on_device(const std::vector<std::int32_t>& positions,
                                    const std::vector<float>& inverse_frequencies,
                                    float magnitude) {
  DeviceArray<std::int32_t> device_positions(positions);
  DeviceArray<float> device_frequencies(inverse_frequencies);
  DeviceArray<float> cos_sin(positions.size() * 2 * inverse_frequencies.size());
  const RopeAngles job{static_cast<std::int64_t>(positions.size()),
                       static_cast<int>(inverse_frequencies.size()),
                       device_positions.data(),
                       device_frequencies.data(),
                       magnitude,
                       cos_sin.data()};
  EXPECT_EQ(rope_angles(job, nullptr), cudaSuccess);
  return cos_sin.download();
}

TEST_P(KernelTest, AnglesAreThoseOfDoublesAtEveryPosition) {
  const std::vector<std::int32_t> positions = {
      0, 1, 2, 77, 4095, 100'003, 1'000'000, 131'071, 2'000'000'011, 2'147'483'647};
  for (const float magnitude : {1.0f, 1.19f}) {
    const auto inverse = frequencies(33);
    const auto got = angles_on_device(positions, inverse, magnitude);
    for (std::size_t row = 0; row < positions.size(); ++row) {
      for (std::size_t i = 0; i < inverse.size(); ++i) {
        const double angle = static_cast<double>(positions[row]) * static_cast<double>(inverse[i]);
        const auto cosine = static_cast<float>(std::cos(angle) * magnitude);
        const auto sine = static_cast<float>(std::sin(angle) * magnitude);
        const std::size_t at = row * 2 * inverse.size() + i;
        // a double's rounding may fall on the other side of half an ulp
        ASSERT_NEAR(got[at], cosine, 6.1e-8f * std::fabs(cosine)) << positions[row] << ", " << i;
        ASSERT_NEAR(got[at + inverse.size()], sine, 6.1e-8f * std::fabs(sine))
            << positions[row] << ", " << i;
      }
    }
  }
}

struct Target {
  int heads;
  bool bias, norm, rotates;
  int gap = 0;  // floats between rows
};

// The naive head: bias, norm, rotation.
void rotate_naively(const Rope& job, std::vector<double>& head, const float* bias,
                    const float* norm, const float* cos_sin, bool rotates) {
  double squares = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (bias != nullptr) head[i] += bias[i];
    squares += head[i] * head[i];
  }
  const double factor =
      1 / std::sqrt(squares / static_cast<double>(head.size()) + job.norm_epsilon);
  for (std::size_t i = 0; norm != nullptr && i < head.size(); ++i) head[i] *= factor * norm[i];
  const auto pairs = static_cast<std::size_t>(job.pairs);
  for (std::size_t i = 0; rotates && i < pairs; ++i) {
    double& first = head[job.interleaved ? 2 * i : i];
    double& second = head[job.interleaved ? 2 * i + 1 : i + pairs];
    const double a = first, b = second, c = cos_sin[i], s = cos_sin[pairs + i];
    first = a * c - b * s;
    second = a * s + b * c;
  }
}

struct Shape {
  int head_dim, pairs;
  bool interleaved;
};

// The rows of one target, on the device and as they were.
struct TargetRows {
  TargetRows(const Target& target, std::size_t dim, unsigned seed)
      : target(target),
        stride(static_cast<std::size_t>(target.heads) * dim + static_cast<std::size_t>(target.gap)),
        before(random_floats(kRows * stride, seed, 2.0f)),
        bias(random_floats(static_cast<std::size_t>(target.heads) * dim, seed + 10)),
        x(before),
        device_bias(bias) {}

  RopeTarget on_device(const float* norm) {
    return {x.data(),
            target.heads,
            static_cast<std::int64_t>(stride),
            target.bias ? device_bias.data() : nullptr,
            target.norm ? norm : nullptr,
            target.rotates};
  }

  void expect_rotated(const Rope& job, const std::vector<float>& norm,
                      const std::vector<float>& cos_sin) {
    const auto dim = static_cast<std::size_t>(job.head_dim);
    std::vector<double> expected(before.begin(), before.end());
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t h = 0; h < static_cast<std::size_t>(target.heads); ++h) {
        const auto from = expected.begin() + static_cast<std::ptrdiff_t>(row * stride + h * dim);
        std::vector<double> head(from, from + static_cast<std::ptrdiff_t>(dim));
        rotate_naively(job, head, target.bias ? bias.data() + h * dim : nullptr,
                       target.norm ? norm.data() : nullptr,
                       cos_sin.data() + row * 2 * static_cast<std::size_t>(job.pairs),
                       target.rotates);
        std::copy(head.begin(), head.end(), from);
      }
    }
    const auto got = x.download();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 4e-6) << i;
  }

  static constexpr std::size_t kRows = 3;
  Target target;
  std::size_t stride;
  std::vector<float> before, bias;
  DeviceArray<float> x, device_bias;
};

void expect_rotated(const Shape& shape, const std::vector<Target>& targets) {
  SCOPED_TRACE(testing::Message() << "head_dim " << shape.head_dim << ", pairs " << shape.pairs
                                  << (shape.interleaved ? ", interleaved" : ", halves"));
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto cos_sin =
      angles_on_device({5, 0, 100'000}, frequencies(static_cast<std::size_t>(shape.pairs)), 1.0f);
  const auto norm = random_floats(dim, 20);
  DeviceArray<float> device_cos_sin(cos_sin), device_norm(norm);
  Rope job;
  job.rows = TargetRows::kRows;
  job.head_dim = shape.head_dim;
  job.pairs = shape.pairs;
  job.interleaved = shape.interleaved;
  job.cos_sin = device_cos_sin.data();
  std::vector<std::unique_ptr<TargetRows>> rows;
  for (const Target& target : targets) {
    rows.push_back(
        std::make_unique<TargetRows>(target, dim, 21 + static_cast<unsigned>(job.num_targets)));
    job.targets[job.num_targets++] = rows.back()->on_device(device_norm.data());
  }
  ASSERT_EQ(rope(job, nullptr), cudaSuccess);
  for (const auto& target : rows) target->expect_rotated(job, norm, cos_sin);
}

TEST_P(KernelTest, RotatesHeadsOfEverySizeAndOrder) {
  for (const bool interleaved : {true, false}) {
    for (const auto& [dim, pairs] : {std::pair(64, 32),
                                     {80, 40},
                                     {96, 48},
                                     {128, 64},
                                     {256, 128},
                                     {128, 16},
                                     {10, 3},
                                     {64, 0}}) {
      expect_rotated({dim, pairs, interleaved}, {{3, false, false, true}});
    }
  }
}

TEST_P(KernelTest, RotatesTargetsWithBiasNormAndStrideInOneLaunch) {
  for (const bool interleaved : {true, false}) {
    expect_rotated({64, 32, interleaved},
                   {{4, true, true, true}, {2, true, false, true, 128}, {2, true, false, false}});
    expect_rotated({96, 24, interleaved}, {{5, false, true, true, 7}, {1, false, false, true}});
    expect_rotated({80, 40, interleaved}, {{1, true, true, false},
                                           {9, false, false, true},
                                           {2, false, true, true},
                                           {3, true, false, true}});
  }
}

TEST_P(KernelTest, RotationRefusesShapesOutsideTheStatedOnes) {
  DeviceArray<float> x(64);
  Rope good;
  good.rows = 1;
  good.head_dim = 64;
  good.pairs = 32;
  good.cos_sin = x.data();
  good.num_targets = 1;
  good.targets[0] = {x.data(), 1};
  Rope job = good;
  job.pairs = 33;
  EXPECT_EQ(rope(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.head_dim = 1025;
  EXPECT_EQ(rope(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.num_targets = 5;
  EXPECT_EQ(rope(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.targets[0].heads = 0;
  EXPECT_EQ(rope(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.targets[0].row_stride = 63;
  EXPECT_EQ(rope(job, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(rope_angles({-1, 1, nullptr, nullptr, 1.0f, nullptr}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
