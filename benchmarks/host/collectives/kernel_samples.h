// SPDX-License-Identifier: Apache-2.0
//
// What the kernel benchmarks share: supports with geometric gaps, a plain read as the yardstick,
// and samples that alternate with it, so that both see the same machine. Work on one thread is
// timed by that thread's CPU clock, so the time of other processes does not count.
#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "cpu/kernels/speed/stream.h"
#include "drivers/cpu/samples.h"
#include "tensor/sparse/sparse_vector.h"

namespace tandem::bench {

// About density * num_units entries, f32, width 1, a narrow domain.
inline sparse::SparseVector random_support(std::uint64_t num_units, double density,
                                           std::uint64_t seed) {
  sparse::SparseVector vector({num_units, 1}, DType::kF32);
  vector.resize(static_cast<std::size_t>(static_cast<double>(num_units) * density * 1.2) + 1000);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(1e-12, 1);
  const double scale = 1 / std::log1p(-density);
  std::size_t count = 0;
  for (double at = -1; count < vector.num_entries(); ++count) {
    at += 1 + std::floor(std::log(uniform(random)) * scale);
    if (at >= static_cast<double>(num_units)) break;
    vector.indices<std::uint32_t>()[count] = static_cast<std::uint32_t>(at);
    vector.values<float>()[count] = static_cast<float>(uniform(random)) + 0.5f;
  }
  vector.resize(count);
  return vector;
}

inline double thread_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

// Seconds of one pass over `bytes` (its multiple of 1 KiB) by one core.
inline double plain_read_s(std::span<const std::byte> bytes) {
  [[maybe_unused]] static thread_local std::uint64_t sink = 0;  // keeps the reads
  return thread_seconds([&] {
    sink ^= device::cpu::read_stream(device::cpu::ReadPattern::kPrefetch, bytes.data(),
                                     bytes.size() / 1024 * 1024);
  });
}

// Prints items per second of `work` and the median of read time over work time.
inline void measure_against_read(const std::string& name, std::span<const std::byte> input,
                                 double num_items, const std::function<void()>& work) {
  std::vector<double> rates, fractions, bandwidths;
  for (int warm = 0; warm < 3; ++warm) work();
  for (int sample = 0; sample < kSamples; ++sample) {
    const double read = plain_read_s(input);
    const double time = thread_seconds(work);
    rates.push_back(num_items / time * 1e-6);
    fractions.push_back(read / time);
    bandwidths.push_back(static_cast<double>(input.size()) / read * 1e-9);
  }
  print_figure(name, rates, "M items/s",
               {{"items", num_items},
                {"input_bytes", input.size()},
                {"of_plain_read", quantile(fractions, 0.5)},
                {"of_plain_read_p10", quantile(fractions, 0.1)},
                {"of_plain_read_p90", quantile(fractions, 0.9)},
                {"read_gb_per_s", quantile(bandwidths, 0.5)}});
}

// The same with the team of all cores, by the wall clock. The yardstick is the faster of one
// core's read and all cores' read side by side.
inline void measure_with_all_cores(const std::string& name, std::span<const std::byte> input,
                                   double num_items, const std::function<void(ThreadPool&)>& work) {
  ThreadPool threads;
  const auto cores = static_cast<std::size_t>(threads.num_threads());
  const std::size_t share = input.size() / cores / 1024 * 1024;
  std::vector<double> rates, fractions, bandwidths, one_core;
  for (int warm = 0; warm < 3; ++warm) work(threads);
  for (int sample = 0; sample < kSamples; ++sample) {
    const double alone = seconds([&] { plain_read_s(input); });
    const double together = seconds([&] {
      threads.run(cores,
                  [&](std::size_t core) { plain_read_s(input.subspan(core * share, share)); });
    });
    const double read = std::min(alone, together);
    const double time = seconds([&] { work(threads); });
    rates.push_back(num_items / time * 1e-6);
    fractions.push_back(read / time);
    one_core.push_back(static_cast<double>(input.size()) / alone * 1e-9);
    bandwidths.push_back(static_cast<double>(input.size()) / together * 1e-9);
  }
  print_figure(name, rates, "M items/s",
               {{"items", num_items},
                {"input_bytes", input.size()},
                {"cores", cores},
                {"of_plain_read", quantile(fractions, 0.5)},
                {"of_plain_read_p10", quantile(fractions, 0.1)},
                {"of_plain_read_p90", quantile(fractions, 0.9)},
                {"read_gb_per_s_one_core", quantile(one_core, 0.5)},
                {"read_gb_per_s_all_cores", quantile(bandwidths, 0.5)}});
}

}  // namespace tandem::bench
