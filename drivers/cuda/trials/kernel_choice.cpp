// SPDX-License-Identifier: Apache-2.0
//
// Runs trials and applies the policy.
#include "cuda/trials/kernel_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/deadline.h"
#include "common/error.h"
#include "common/median.h"

namespace tandem::cuda {

using gpu_kernels::KernelPath;

namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr int kSamples = 5, kLaunches = 3;         // per sample
constexpr std::chrono::milliseconds kEnough{100};  // no more samples then
constexpr double kLeastGain = 0.03;                // of Hopper, more than samples scatter

std::size_t num_results(const PathTrial& trial) {
  std::size_t count = 0;
  for (const TrialPart& part : trial.parts) count += part.count;
  return count;
}

void finish(Gpu& gpu, const PathTrial& trial) {
  const std::uint64_t position = gpu.queue.flush();
  if (gpu.queue.wait(position, Deadline::after(kPatience)) == device::WaitResult::kDone) return;
  gpu.health.lose("the trial of " + trial.what + " did not end");
  throw Error("cuda", gpu.health.device() + ": the trial of " + trial.what +
                          " did not end; use --cuda-kernels generic");
}

void enqueue(Gpu& gpu, const PathTrial& trial, KernelPath path, float* results) {
  gpu.health.check(trial.launch(path, results, gpu.queue.stream().get()), "trying kernels");
}

// Seconds of a launch, between events of the GPU.
double time_of(Gpu& gpu, const PathTrial& trial, KernelPath path, float* results) {
  const Event start(cudaEventDefault), stop(cudaEventDefault);
  const cudaStream_t stream = gpu.queue.stream().get();
  gpu.health.check(cudaEventRecord(start.get(), stream), "timing kernels");
  for (int i = 0; i < kLaunches; ++i) enqueue(gpu, trial, path, results);
  gpu.health.check(cudaEventRecord(stop.get(), stream), "timing kernels");
  finish(gpu, trial);
  float milliseconds = 0;
  gpu.health.check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "timing kernels");
  return static_cast<double>(milliseconds) / 1e3 / kLaunches;
}

std::vector<float> results_of(Gpu& gpu, const PathTrial& trial, KernelPath path,
                              const PoolRange& room) {
  const cudaStream_t stream = gpu.queue.stream().get();
  gpu.health.check(cudaMemsetAsync(room.data(), 0xff, room.size_bytes(), stream), "trying kernels");
  enqueue(gpu, trial, path, room.as<float>());
  finish(gpu, trial);
  std::vector<float> results(num_results(trial));
  gpu.health.check(cudaMemcpy(results.data(), room.data(), results.size() * sizeof(float),
                              cudaMemcpyDeviceToHost),
                   "trying kernels");
  return results;
}

// The largest difference of a part, relative to its largest value if its bound is relative; NaN if
// a result is NaN.
double difference(std::span<const float> a, std::span<const float> b, bool is_relative) {
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(off)) return std::nan("");
    largest = std::max(largest, std::fabs(static_cast<double>(a[i])));
    most = std::max(most, off);
  }
  return is_relative && largest > 0 ? most / largest : most;
}

std::string number(const char* format, double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

struct Agreement {
  bool holds = true;
  std::string text;  // "O 1.0e-07, LSE 0.0e+00"
};

Agreement compare(const PathTrial& trial, std::span<const float> a, std::span<const float> b) {
  Agreement agreement;
  std::size_t at = 0;
  for (const TrialPart& part : trial.parts) {
    const double off =
        difference(a.subspan(at, part.count), b.subspan(at, part.count), part.is_relative);
    agreement.holds = agreement.holds && off <= part.bound;  // not where it is NaN
    agreement.text += (at > 0 ? ", " : "") + part.name + " " + number("%.1e", off);
    at += part.count;
  }
  return agreement;
}

KernelPath try_paths(Gpu& gpu, const PathTrial& trial) {
  trial.prepare();
  const PoolRange room(gpu.device_memory, num_results(trial) * sizeof(float), Purpose::kWorkspace);
  const Agreement agreement = compare(trial, results_of(gpu, trial, KernelPath::kGeneric, room),
                                      results_of(gpu, trial, KernelPath::kHopper, room));
  const std::string where = gpu.health.device() + ": " + trial.what + ": ";
  if (!agreement.holds) {
    gpu.note(where + trial.generic_word + ", for results of " + trial.hopper_word +
             " differ by more than rounding: " + agreement.text + "; please report this");
    return KernelPath::kGeneric;
  }
  std::vector<double> generic, hopper;
  const Deadline enough = Deadline::after(kEnough);
  while (generic.empty() || (generic.size() < kSamples && !enough.expired())) {
    generic.push_back(time_of(gpu, trial, KernelPath::kGeneric, room.as<float>()));
    hopper.push_back(time_of(gpu, trial, KernelPath::kHopper, room.as<float>()));
  }
  const double before = median(generic), after = median(hopper);
  const bool pays = after < before * (1 - kLeastGain);
  gpu.note(where + (pays ? trial.hopper_word : trial.generic_word) + ", by a trial: " +
           trial.generic_word + " " + number("%.1f", before * 1e6) + " us, " + trial.hopper_word +
           " " + number("%.1f", after * 1e6) + " us, differences: " + agreement.text);
  return pays ? KernelPath::kHopper : KernelPath::kGeneric;
}

}  // namespace

KernelPolicy kernel_policy(std::string_view word) {
  if (word == "generic") return KernelPolicy::kGeneric;
  if (word == "hopper") return KernelPolicy::kHopper;
  if (word == "trial") return KernelPolicy::kTrial;
  throw Error("cuda",
              "unknown kernel policy '" + std::string(word) + "'; use generic, hopper or trial");
}

PoolRange upload_for_trial(Gpu& gpu, std::span<const std::byte> from) {
  PoolRange range(gpu.device_memory, from.size(), Purpose::kWorkspace);
  const cudaStream_t stream = gpu.queue.stream().get();
  gpu.health.check(
      cudaMemcpyAsync(range.data(), from.data(), from.size(), cudaMemcpyHostToDevice, stream),
      "bringing a trial's case");
  gpu.health.check(cudaStreamSynchronize(stream), "bringing a trial's case");
  return range;
}

KernelPath choose_path(Gpu& gpu, const PathTrial& trial) {
  if (gpu.kernel_policy == KernelPolicy::kGeneric) return KernelPath::kGeneric;
  if (!trial.has_hopper) {
    gpu.note(gpu.health.device() + ": " + trial.what + ": " + trial.generic_word +
             ", there are no others");
    return KernelPath::kGeneric;
  }
  return gpu.kernel_policy == KernelPolicy::kHopper ? KernelPath::kHopper : try_paths(gpu, trial);
}

}  // namespace tandem::cuda
