// SPDX-License-Identifier: Apache-2.0
//
// One thread per pair of a row.
//
// angle = quarters * pi/2 + rest. With pi/2 = kHigh + kLow and quarters below 2^31 the first
// fused step is exact: angle and quarters * kHigh are multiples of 2^-52, and their difference is
// below 1. The second leaves an error of 2^-53 of the rest. sin and cos of |rest| <= pi/4 are their
// Taylor series to x^17 and x^16, whose next terms are below 2^-60 of the result.
#include "rope/angles.h"

#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kHigh = 1.57079632679489655800e+00;
constexpr double kLow = 6.12323399573676603587e-17;

__device__ double sine(double x) {
  const double y = x * x;
  double sum = 2.81145725434552075980e-15;         // 1 / 17!
  sum = fma(sum, y, -7.64716373181981647590e-13);  // 1 / 15!
  sum = fma(sum, y, 1.60590438368216145994e-10);   // 1 / 13!
  sum = fma(sum, y, -2.50521083854417187751e-08);  // 1 / 11!
  sum = fma(sum, y, 2.75573192239858906526e-06);   // 1 / 9!
  sum = fma(sum, y, -1.98412698412698412698e-04);  // 1 / 7!
  sum = fma(sum, y, 8.33333333333333333333e-03);   // 1 / 5!
  sum = fma(sum, y, -1.66666666666666666667e-01);  // 1 / 3!
  return fma(x * y, sum, x);
}

__device__ double cosine(double x) {
  const double y = x * x;
  double sum = 4.77947733238738529744e-14;         // 1 / 16!
  sum = fma(sum, y, -1.14707455977297247139e-11);  // 1 / 14!
  sum = fma(sum, y, 2.08767569878680989792e-09);   // 1 / 12!
  sum = fma(sum, y, -2.75573192239858906526e-07);  // 1 / 10!
  sum = fma(sum, y, 2.48015873015873015873e-05);   // 1 / 8!
  sum = fma(sum, y, -1.38888888888888888889e-03);  // 1 / 6!
  sum = fma(sum, y, 4.16666666666666666667e-02);   // 1 / 4!
  sum = fma(sum, y, -0.5);
  return fma(sum, y, 1.0);
}

__global__ __launch_bounds__(kThreads) void write_angles(RopeAngles job) {
  let_next_start();
  wait_for_previous();
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= job.rows * job.pairs) return;
  const std::int64_t row = at / job.pairs;
  const int pair = static_cast<int>(at % job.pairs);
  const double angle =
      static_cast<double>(job.positions[row]) * static_cast<double>(job.inverse_frequencies[pair]);
  const double quarters = rint(angle * kTwoOverPi);
  const double rest = fma(-quarters, kLow, fma(-quarters, kHigh, angle));
  const auto quadrant = static_cast<unsigned>(static_cast<long long>(quarters)) & 3u;
  const double s = sine(rest), c = cosine(rest);
  double cos_angle = quadrant % 2 == 0 ? c : s;
  double sin_angle = quadrant % 2 == 0 ? s : c;
  if (quadrant == 1 || quadrant == 2) cos_angle = -cos_angle;
  if (quadrant >= 2) sin_angle = -sin_angle;
  float* to = job.cos_sin + row * 2 * job.pairs + pair;
  to[0] = static_cast<float>(cos_angle * static_cast<double>(job.magnitude));
  to[job.pairs] = static_cast<float>(sin_angle * static_cast<double>(job.magnitude));
}

}  // namespace

cudaError_t rope_angles(const RopeAngles& job, cudaStream_t stream) {
  if (job.rows < 0 || job.pairs < 0) return cudaErrorInvalidValue;
  const std::int64_t count = job.rows * job.pairs;
  if (count == 0) return cudaSuccess;
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  return launch(stream, static_cast<unsigned>(blocks), kThreads, write_angles, job);
}

}  // namespace tandem::gpu_kernels
