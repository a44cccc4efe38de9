// SPDX-License-Identifier: Apache-2.0
//
// The table of peaks, and medians of timed copies.
#include "cuda/gpu/speed.h"

#include <algorithm>
#include <chrono>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kLinkBytes = std::size_t{4} << 20;
constexpr std::size_t kMemoryBytes = std::size_t{128} << 20;  // beyond any L2 cache
constexpr std::chrono::seconds kPatience{5};

// Operations of one multiprocessor per clock, multiplications and additions counted each.
struct Rates {
  int capability;  // from this one on
  int f32, bf16, int8;
};
constexpr Rates kRates[] = {
    {80, 128, 2048, 4096},    // A100
    {86, 256, 1024, 2048},    // A40, L40S (89)
    {90, 256, 4096, 8192},    // H100, H200
    {100, 256, 8192, 16384},  // B200
    {120, 256, 2048, 4096},   // RTX PRO 6000
};

// Seconds of a copy from its enqueueing to its end: the median of 5 after one more. 0: it failed.
double seconds_of_copy(Gpu& gpu, std::byte* to, const std::byte* from, std::size_t bytes) {
  double samples[6];
  for (double& sample : samples) {
    const cudaStream_t stream = gpu.queue.stream().get();
    const auto start = std::chrono::steady_clock::now();
    if (!gpu.health.note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
                         "measuring copies")) {
      return 0;
    }
    const std::uint64_t position = gpu.queue.flush();
    if (gpu.queue.wait(position, Deadline::after(kPatience)) != device::WaitResult::kDone) {
      return 0;
    }
    sample = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(std::begin(samples) + 1, std::end(samples));
  return samples[3];
}

}  // namespace

device::PeakOps peak_ops(const GpuTraits& traits) {
  device::PeakOps peaks;
  const double clocks = 1e3 * traits.clock_khz * traits.num_processors;
  for (const Rates& rates : kRates) {
    if (traits.capability < rates.capability) break;
    peaks = {clocks * rates.f32, clocks * rates.bf16, clocks * rates.int8};
  }
  return peaks;
}

double measure_memory_bandwidth(Gpu& gpu) {
  try {
    const std::uint64_t free_bytes = gpu.memory().free_bytes;
    const std::size_t bytes = std::min<std::uint64_t>(kMemoryBytes, free_bytes / 4);
    const PoolRange from(gpu.device_memory, bytes, Purpose::kWorkspace);
    const PoolRange to(gpu.device_memory, bytes, Purpose::kWorkspace);
    const double small = seconds_of_copy(gpu, to.data(), from.data(), 256);
    const double large = seconds_of_copy(gpu, to.data(), from.data(), bytes);
    return large > small ? 2.0 * static_cast<double>(bytes) / (large - small) : 0;
  } catch (const Error&) {
    return 0;  // no memory, or the GPU is lost: its units report it
  }
}

LinkSpeed nominal_link(const GpuTraits& traits) {
  return {traits.capability >= 90 ? 50e9 : 25e9, 0};
}

LinkSpeed measure_link(Gpu& gpu) {
  const PoolRange host(gpu.pinned_memory, kLinkBytes, Purpose::kStaging);
  const PoolRange device(gpu.device_memory, kLinkBytes, Purpose::kStaging);
  const double small = seconds_of_copy(gpu, device.data(), host.data(), 64);
  const double large = seconds_of_copy(gpu, device.data(), host.data(), kLinkBytes);
  LinkSpeed speed;
  speed.latency_us = small * 1e6;
  if (large > small) speed.bandwidth_bytes_per_s = kLinkBytes / (large - small);
  return speed;
}

}  // namespace tandem::cuda
