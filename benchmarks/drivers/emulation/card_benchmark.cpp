// SPDX-License-Identifier: Apache-2.0
//
// Launch latency and copy bandwidth of a card through XRT's native API: card_benchmark
// <empty.xclbin>.
//
// launch_wait   start and wait of a kernel that writes one word, launches back to back
// launch_idle   the same after the card was idle for a millisecond (its threads are asleep)
// launch_batch  microseconds per launch over batches of 1,000
// launch_8_threads   the same from 8 threads at once, each with its own run: microseconds per
//               launch of one thread, and launches per second of the card
// copy_to_device, copy_from_device   64 MiB syncs
// One JSON line per figure. Results are checked before anything is timed.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr size_t kCopyBytes = size_t{64} << 20;
constexpr int kLaunchSamples = 2000;
constexpr int kIdleSamples = 200;
constexpr int kCopySamples = 40;
constexpr int kWarmUp = 10;
constexpr int kBatches = 40;
constexpr int kBatchLaunches = 1000;
constexpr int kThreads = 8;

using Clock = std::chrono::steady_clock;

std::vector<double> sample_us(int num_samples, const std::function<void()>& prepare,
                              const std::function<void()>& action) {
  std::vector<double> samples;
  for (int sample = -kWarmUp; sample < num_samples; ++sample) {
    prepare();
    const auto begin = Clock::now();
    action();
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
    if (sample >= 0) samples.push_back(elapsed.count());
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

void print(const char* name, std::vector<double> samples, const char* unit, size_t bytes,
           const char* command) {
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double q) {
    return samples[static_cast<size_t>(q * (samples.size() - 1))];
  };
  std::printf(
      "{\"name\": \"emulated_card.%s\", \"median\": %.3f, \"p10\": %.3f, \"p90\": %.3f, \"unit\": "
      "\"%s\", "
      "\"samples\": %zu, \"bytes\": %zu, \"command\": \"%s\"}\n",
      name, quantile(0.5), quantile(0.1), quantile(0.9), unit, samples.size(), bytes, command);
}

std::vector<double> to_gb_per_s(const std::vector<double>& samples_us) {
  std::vector<double> rates;
  for (double us : samples_us) rates.push_back(static_cast<double>(kCopyBytes) / us * 1e-3);
  return rates;
}

void verify(xrt::kernel& kernel, xrt::bo& mark) {
  auto launch = kernel(mark, 0x1234u);
  if (launch.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("the kernel failed");
  mark.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  if (*mark.map<uint32_t*>() != 0x1234u) throw std::runtime_error("the kernel did not run");
}

void launch_often(xrt::run& run) {
  for (int launch = 0; launch < kBatchLaunches; ++launch) {
    run.start();
    if (run.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("a launch failed");
  }
}

void measure_batches(xrt::run& launch, const char* command) {
  auto samples = sample_us(
      kBatches, [] {}, [&] { launch_often(launch); });
  for (double& us : samples) us /= kBatchLaunches;
  print("launch_batch", samples, "us", 0, command);
}

void measure_threads(xrt::kernel& kernel, xrt::bo& mark, const char* command) {
  std::vector<xrt::run> runs;
  for (int thread = 0; thread < kThreads; ++thread) {
    runs.emplace_back(kernel);
    runs.back().set_arg(0, mark);
    runs.back().set_arg(1, 7u);
  }
  auto samples = sample_us(
      kBatches, [] {},
      [&] {
        std::vector<std::thread> threads;
        for (auto& run : runs) threads.emplace_back([&run] { launch_often(run); });
        for (auto& thread : threads) thread.join();
      });
  std::vector<double> rates;
  for (double& us : samples) {
    rates.push_back(kThreads * kBatchLaunches / us);
    us /= kBatchLaunches;
  }
  print("launch_8_threads", samples, "us", 0, command);
  print("launches_of_8_threads", rates, "M/s", 0, command);
}

void measure(const char* path, const char* command) {
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(path);
  xrt::kernel kernel(device, uuid, "empty");
  xrt::bo mark(device, 4096, kernel.group_id(0));
  verify(kernel, mark);
  xrt::run launch(kernel);
  launch.set_arg(0, mark);
  launch.set_arg(1, 7u);
  const auto launch_and_wait = [&] {
    launch.start();
    if (launch.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("a launch failed");
  };
  const auto nothing = [] {};
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  print("launch_wait", sample_us(kLaunchSamples, nothing, launch_and_wait), "us", 0, command);
  print("launch_idle", sample_us(kIdleSamples, rest, launch_and_wait), "us", 0, command);
  measure_batches(launch, command);
  measure_threads(kernel, mark, command);

  xrt::bo large(device, kCopyBytes, kernel.group_id(0));
  auto* data = large.map<uint32_t*>();
  for (size_t i = 0; i < kCopyBytes / 4; ++i) data[i] = static_cast<uint32_t>(i * 2654435761u);
  large.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::fill(data, data + kCopyBytes / 4, 0u);
  large.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (size_t i = 0; i < kCopyBytes / 4; ++i) {
    if (data[i] != static_cast<uint32_t>(i * 2654435761u))
      throw std::runtime_error("a copy is wrong");
  }
  const auto to_device = [&] { large.sync(XCL_BO_SYNC_BO_TO_DEVICE); };
  const auto from_device = [&] { large.sync(XCL_BO_SYNC_BO_FROM_DEVICE); };
  print("copy_to_device", to_gb_per_s(sample_us(kCopySamples, nothing, to_device)), "GB/s",
        kCopyBytes, command);
  print("copy_from_device", to_gb_per_s(sample_us(kCopySamples, nothing, from_device)), "GB/s",
        kCopyBytes, command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <empty.xclbin>\n", argv[0]);
    return 1;
  }
  try {
    measure(argv[1], argv[0]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
