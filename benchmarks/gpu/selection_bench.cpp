// SPDX-License-Identifier: Apache-2.0
//
// Selection from a gradient of 100 M values on a GPU: accumulation, thresholds, exact top-k, values
// at places; CUB's selection and sort beside them; a device copy in the same run.
//
// Every result is first compared with loops on the host. ratio: the time of a copy of the necessary
// bytes over the measured time. The values are several times larger than any cache. One JSON line
// per figure.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "device_vector.h"
#include "selection_peer.h"
#include "sparse/entries_at.h"
#include "sparse/gradient_sum.h"
#include "sparse/select_large.h"
#include "sparse/select_top.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr std::uint32_t kValues = 100'000'000;
constexpr double kDensities[] = {0.01, 0.001};
constexpr int kPartitions = 16;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

std::vector<float> random_gradient(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(kValues);
  for (float& value : values) {
    const std::uint64_t bits = random();
    const auto uniform = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;
    value = (bits % 2 == 0 ? -0.01f : 0.01f) * std::log(uniform);
  }
  return values;
}

// The places of the k largest magnitudes, ascending.
std::vector<std::uint32_t> host_top(const std::vector<float>& values, std::uint32_t k) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0u);
  std::nth_element(places.begin(), places.begin() + k, places.end(), [&](auto a, auto b) {
    const float x = std::fabs(values[a]), y = std::fabs(values[b]);
    return x != y ? x > y : a < b;
  });
  places.resize(k);
  std::sort(places.begin(), places.end());
  return places;
}

struct Buffers {
  Buffers()
      : host(random_gradient(1)),
        gradient(random_gradient(2)),
        residual(host),
        velocity(std::vector<float>(kValues, 0.0f)),
        measurement(1),
        indices(kValues),
        values(kValues),
        answers(std::vector<std::uint32_t>(kMostThresholds + 2, 0u)),
        workspace(
            std::max({accumulate_workspace_bytes(kValues), select_large_workspace_bytes(0, kValues),
                      select_top_workspace_bytes(0, kValues)})) {}

  AccumulateGradient accumulate_job() const {
    AccumulateGradient job;
    job.gradient = gradient.data();
    job.num_values = kValues;
    job.measurement = measurement.data();
    job.workspace = workspace.data();
    return job;
  }

  SelectLarge select_job(std::uint64_t begin, std::uint64_t end, float threshold) const {
    SelectLarge job;
    job.values = residual.data();
    job.begin = begin;
    job.end = end;
    job.threshold = threshold;
    job.max_entries = kValues;
    job.indices = indices.data();
    job.values_out = values.data();
    job.num_entries = answers.data();
    job.workspace = workspace.data();
    return job;
  }

  SelectTop top_job(std::uint32_t count) const {
    SelectTop job;
    job.values = residual.data();
    job.end = kValues;
    job.count = count;
    job.indices = indices.data();
    job.values_out = values.data();
    job.num_entries = answers.data();
    job.workspace = workspace.data();
    return job;
  }

  std::vector<float> host;
  DeviceVector<float> gradient, residual, velocity;
  DeviceVector<GradientMeasurement> measurement;
  DeviceVector<std::uint32_t> indices;
  DeviceVector<float> values;
  DeviceVector<std::uint32_t> answers;
  DeviceVector<unsigned char> workspace;
};

void check_entries(const Buffers& buffers, const std::vector<std::uint32_t>& places,
                   const char* what) {
  expect(buffers.answers.download().front() == places.size(), what);
  const auto indices = buffers.indices.download();
  const auto values = buffers.values.download();
  expect(std::equal(places.begin(), places.end(), indices.begin()), what);
  for (std::size_t i = 0; i < places.size(); ++i) {
    expect(values[i] == buffers.host[places[i]], what);
  }
}

float check_selections(const Buffers& buffers, std::uint32_t k) {
  const auto top = host_top(buffers.host, k);
  check_cuda(select_top(buffers.top_job(k), nullptr));
  check_entries(buffers, top, "the top");
  float threshold = std::fabs(buffers.host[top.front()]);
  for (const std::uint32_t place : top) {
    threshold = std::min(threshold, std::fabs(buffers.host[place]));
  }
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < kValues; ++i) {
    if (std::fabs(buffers.host[i]) >= threshold) large.push_back(i);
  }
  check_cuda(select_large(buffers.select_job(0, kValues, threshold), nullptr));
  check_entries(buffers, large, "the places above a threshold");
  return threshold;
}

void check_accumulation(const Buffers& buffers) {
  const DeviceVector<float> residual(buffers.host);
  AccumulateGradient job = buffers.accumulate_job();
  job.residual = residual.data();
  check_cuda(accumulate_gradient(job, nullptr));
  const auto got = residual.download();
  const auto gradient = buffers.gradient.download();
  double sum = 0, squares = 0;
  for (std::uint32_t i = 0; i < kValues; ++i) {
    const float expected = buffers.host[i] + gradient[i];
    expect(got[i] == expected, "a sum");
    sum += std::fabs(expected);
    squares += static_cast<double>(expected) * expected;
  }
  const GradientMeasurement seen = buffers.measurement.download().front();
  expect(seen.count == kValues && seen.first_non_finite == kAllFinite, "the count");
  expect(std::fabs(seen.sum - sum) < 1e-9 * sum, "the sum of magnitudes");
  expect(std::fabs(seen.squares - squares) < 1e-9 * squares, "the sum of squares");
}

void time_accumulation(const Buffers& buffers, double copy) {
  const auto time = [&](const char* name, const AccumulateGradient& job, double bytes) {
    const auto samples = time_launches(
        4, [&](int, cudaStream_t stream) { check_cuda(accumulate_gradient(job, stream)); });
    report(std::string("gpu_selection/") + name, samples, bytes * kValues, copy);
  };
  AccumulateGradient job = buffers.accumulate_job();
  time("measure", job, 4);
  const DeviceVector<float> residual(std::vector<float>(kValues, 0.0f));  // grows with each run
  job.residual = residual.data();
  time("accumulate_f32", job, 12);
  job.logarithms = true;
  time("accumulate_f32_with_logarithms", job, 12);
  job.logarithms = false;
  job.type = ValueType::kBF16;
  time("accumulate_bf16", job, 10);
  job.type = ValueType::kF32;
  job.velocity = buffers.velocity.data();
  job.momentum = 0.9f;
  time("accumulate_momentum", job, 20);
}

void time_selection(const Buffers& buffers, double density, float threshold, double copy) {
  const auto k = static_cast<std::uint32_t>(density * kValues);
  const std::string at = density == 0.01 ? "_1_percent" : "_0.1_percent";
  const double whole = 4.0 * kValues + 8.0 * k;
  report(
      "gpu_selection/select_large" + at,
      time_launches(4,
                    [&](int, cudaStream_t stream) {
                      check_cuda(select_large(buffers.select_job(0, kValues, threshold), stream));
                    }),
      whole, copy);
  report(
      "gpu_selection/select_large_of_a_partition" + at,
      time_launches(kPartitions,
                    [&](int part, cudaStream_t stream) {
                      const auto border = [](int i) {
                        return static_cast<std::uint64_t>(kValues) * static_cast<unsigned>(i) /
                               kPartitions;
                      };
                      check_cuda(select_large(
                          buffers.select_job(border(part), border(part + 1), threshold), stream));
                    }),
      whole / kPartitions, copy);
  report(
      "gpu_selection/select_top" + at,
      time_launches(
          4, [&](int, cudaStream_t stream) { check_cuda(select_top(buffers.top_job(k), stream)); }),
      whole, copy);
}

void time_counts(const Buffers& buffers, float threshold, double copy) {
  for (const int count : {1, kMostThresholds}) {
    CountLarge job;
    job.values = buffers.residual.data();
    job.end = kValues;
    job.num_thresholds = count;
    for (int i = 0; i < count; ++i) {
      job.thresholds[i] = threshold * static_cast<float>(i + 1) / static_cast<float>(count);
    }
    job.counts = buffers.answers.data() + 1;
    report(
        "gpu_selection/count_above_" + std::to_string(count),
        time_launches(4, [&](int, cudaStream_t stream) { check_cuda(count_large(job, stream)); }),
        4.0 * kValues, copy);
  }
}

// At the places that a selection has left in the buffers.
void time_places(const Buffers& buffers, std::uint32_t count, double copy) {
  std::uint32_t* faults = buffers.answers.data() + kMostThresholds + 1;
  const auto time = [&](const char* name, double bytes, const auto& work) {
    report(std::string("gpu_selection/") + name,
           time_launches(4, [&](int, cudaStream_t stream) { check_cuda(work(stream)); }),
           bytes * count, copy);
  };
  time("gather_at", 12, [&](cudaStream_t stream) {
    return gather_at({buffers.gradient.data(), kValues, buffers.indices.data(), count,
                      buffers.values.data(), faults},
                     stream);
  });
  time("add_at", 16, [&](cudaStream_t stream) {
    AddAt job{buffers.velocity.data(),
              ValueType::kF32,
              kValues,
              buffers.indices.data(),
              buffers.values.data(),
              count,
              16.0f,
              false,
              faults};
    return add_at(job, stream);
  });
  time("clear_at", 8, [&](cudaStream_t stream) {
    return clear_at(
        {buffers.velocity.data(), nullptr, kValues, buffers.indices.data(), count, faults}, stream);
  });
  expect(buffers.answers.download()[kMostThresholds + 1] == 0, "no place is wrong");
}

void time_peers(const Buffers& buffers, float threshold, double copy) {
  std::size_t bytes = 0;
  const auto select = [&](void* workspace, cudaStream_t stream) {
    check_cuda(cub_select_large(workspace, &bytes, buffers.residual.data(), kValues, threshold,
                                buffers.indices.data(), buffers.answers.data(), stream));
  };
  select(nullptr, nullptr);
  const DeviceVector<unsigned char> select_space(bytes);
  report("gpu_selection/cub_select_if_0.1_percent",
         time_launches(4, [&](int, cudaStream_t stream) { select(select_space.data(), stream); }),
         4.0 * kValues, copy);
  std::vector<std::uint32_t> key_bits(2 * std::size_t{kValues}), counted(key_bits.size());
  for (std::uint32_t i = 0; i < kValues; ++i) {
    key_bits[i] = std::bit_cast<std::uint32_t>(std::fabs(buffers.host[i]));
    counted[i] = i;
  }
  const DeviceVector<std::uint32_t> keys(key_bits), places(counted);
  const auto sort = [&](void* workspace, cudaStream_t stream) {
    check_cuda(
        cub_sort_by_magnitude(workspace, &bytes, keys.data(), places.data(), kValues, stream));
  };
  sort(nullptr, nullptr);
  const DeviceVector<unsigned char> sort_space(bytes);
  report("gpu_selection/cub_radix_sort",
         time_launches(1, [&](int, cudaStream_t stream) { sort(sort_space.data(), stream); }),
         4.0 * kValues, copy);
}

void run() {
  const Buffers buffers;
  check_accumulation(buffers);
  const double copy = report_copy("gpu_selection/copy_1GiB");
  float threshold = 0;
  std::uint32_t count = 0;
  for (const double density : kDensities) {
    count = static_cast<std::uint32_t>(density * kValues);
    threshold = check_selections(buffers, count);
    time_selection(buffers, density, threshold, copy);
  }
  check_cuda(select_top(buffers.top_job(count), nullptr));
  time_places(buffers, count, copy);
  time_counts(buffers, threshold, copy);
  time_accumulation(buffers, copy);
  time_peers(buffers, threshold, copy);
}

}  // namespace
}  // namespace tandem::bench

int main() {
  return tandem::bench::run_on_gpu("bench_gpu_selection", [] { tandem::bench::run(); });
}
