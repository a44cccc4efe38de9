// SPDX-License-Identifier: Apache-2.0
//
// Policies and trials.
#include "cuda/kernel_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/error.h"

namespace tandem::cuda {

using gpu_kernels::KernelPath;

namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr int kSamples = 5, kLaunches = 3;  // per sample
constexpr double kEnoughSeconds = 0.1;      // no more samples then

void finish(Gpu& gpu, const PathTrial& trial) {
  const std::uint64_t position = gpu.queue.flush();
  if (gpu.queue.wait(position, Deadline::after(kPatience)) == device::WaitResult::kDone) return;
  gpu.health.lose("the trial of " + trial.what + " did not come to an end");
  throw Error("cuda", gpu.health.device() + ": the trial of " + trial.what +
                          " did not come to an end; use --cuda-kernels generic");
}

// Seconds of `launches` of them, from the first one's enqueueing to the end of the last.
double run(Gpu& gpu, const PathTrial& trial, KernelPath path, int launches, float* results) {
  const cudaStream_t stream = gpu.queue.stream().get();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) {
    gpu.health.check(trial.launch(path, results, stream), "trying kernels");
  }
  finish(gpu, trial);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<float> results_of(Gpu& gpu, const PathTrial& trial, KernelPath path,
                              const PoolRange& room) {
  gpu.health.check(cudaMemset(room.data(), 0xff, room.size_bytes()), "trying kernels");
  run(gpu, trial, path, 1, room.as<float>());
  std::vector<float> results(trial.num_results);
  gpu.health.check(
      cudaMemcpy(results.data(), room.data(), room.size_bytes(), cudaMemcpyDeviceToHost),
      "trying kernels");
  return results;
}

// The largest difference relative to the largest result; NaN where a result is none.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(off)) return std::nan("");
    largest = std::max(largest, std::fabs(static_cast<double>(a[i])));
    most = std::max(most, off);
  }
  return largest > 0 ? most / largest : most;
}

std::string number(const char* format, double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

KernelPath try_paths(Gpu& gpu, const PathTrial& trial) {
  trial.prepare();
  const PoolRange room(gpu.device_memory, trial.num_results * sizeof(float), Purpose::kWorkspace);
  const double off = difference(results_of(gpu, trial, KernelPath::kGeneric, room),
                                results_of(gpu, trial, KernelPath::kHopper, room));
  const std::string where = gpu.health.device() + ": " + trial.what + ": ";
  if (!(off <= trial.bound)) {
    gpu.note(where + "generic kernels, for results of the Hopper kernels differ by " +
             number("%.1e", off) + " of the largest; please report this");
    return KernelPath::kGeneric;
  }
  std::vector<double> generic, hopper;
  for (double spent = 0; generic.size() < kSamples && spent < kEnoughSeconds;) {
    generic.push_back(run(gpu, trial, KernelPath::kGeneric, kLaunches, room.as<float>()));
    hopper.push_back(run(gpu, trial, KernelPath::kHopper, kLaunches, room.as<float>()));
    spent += generic.back() + hopper.back();
  }
  std::ranges::sort(generic);
  std::ranges::sort(hopper);
  const double before = generic[generic.size() / 2] / kLaunches;
  const double after = hopper[hopper.size() / 2] / kLaunches;
  const bool pays = after < before;
  gpu.note(where + (pays ? "Hopper" : "generic") + " kernels, by a trial: generic " +
           number("%.1f", before * 1e6) + " us, Hopper " + number("%.1f", after * 1e6) +
           " us, results within " + number("%.1e", off));
  return pays ? KernelPath::kHopper : KernelPath::kGeneric;
}

}  // namespace

KernelPolicy kernel_policy(std::string_view word) {
  if (word == "generic") return KernelPolicy::kGeneric;
  if (word == "hopper") return KernelPolicy::kHopper;
  if (word == "trial") return KernelPolicy::kTrial;
  throw Error("cuda", "kernels '" + std::string(word) + "' are none of generic, hopper, trial");
}

KernelPath choose_path(Gpu& gpu, const PathTrial& trial) {
  if (gpu.kernel_policy == KernelPolicy::kGeneric) return KernelPath::kGeneric;
  if (!trial.has_hopper) {
    gpu.note(gpu.health.device() + ": " + trial.what + ": generic kernels, there are no others");
    return KernelPath::kGeneric;
  }
  return gpu.kernel_policy == KernelPolicy::kHopper ? KernelPath::kHopper : try_paths(gpu, trial);
}

}  // namespace tandem::cuda
