// SPDX-License-Identifier: Apache-2.0
//
// Times of launches on a GPU, and the report line with the device's copy bandwidth.
//
// Kernels are captured in a graph, which excludes the host's time between them. A sample is one
// replay between events, divided by the number of launches. The copy that gives the bandwidth is no
// node of a graph: there it reaches two thirds of what it does in a stream (H200). Threads: one.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "device_vector.h"

namespace tandem::bench {

inline constexpr int kWarmReplays = 3, kReplays = 30;

// Milliseconds on the device of what `enqueue` puts into the stream, ascending.
inline std::vector<double> time_in_stream(cudaStream_t stream,
                                          const std::function<void()>& enqueue) {
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start));
  check_cuda(cudaEventCreate(&stop));
  std::vector<double> samples;
  for (int run = -kWarmReplays; run < kReplays; ++run) {
    check_cuda(cudaEventRecord(start, stream));
    enqueue();
    check_cuda(cudaEventRecord(stop, stream));
    check_cuda(cudaEventSynchronize(stop));
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start, stop));
    if (run >= 0) samples.push_back(static_cast<double>(milliseconds));
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(samples.begin(), samples.end());
  return samples;
}

// Milliseconds per launch, ascending. work(i, stream) enqueues the i-th launch and may wait for
// nothing; it takes inputs in turns, so that none is found in the cache.
inline std::vector<double> time_launches(int launches,
                                         const std::function<void(int, cudaStream_t)>& work) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  // waits for the prepared work, because this stream waits for no other
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < launches; ++i) work(i, stream);
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&replay, graph, 0));
  std::vector<double> samples =
      time_in_stream(stream, [&] { check_cuda(cudaGraphLaunch(replay, stream)); });
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  for (double& sample : samples) sample /= launches;
  return samples;
}

inline std::string device_name() {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, 0));
  return properties.name;
}

// One JSON line; returns bytes per millisecond. bytes: read plus written at least; copy_bandwidth:
// of a device copy, counted the same way, or 0 for the copy itself.
inline double report(const std::string& name, const std::vector<double>& samples, double bytes,
                     double copy_bandwidth) {
  const double median = samples[samples.size() / 2], bandwidth = bytes / median;
  std::printf(
      "{\"name\": \"%s\", \"median\": %.5f, \"p10\": %.5f, \"p90\": %.5f, \"unit\": \"ms\", "
      "\"samples\": %zu, \"bytes\": %.0f, \"GB_per_s\": %.1f, \"ratio\": %.3f, "
      "\"device\": \"%s\"}\n",
      name.c_str(), median, samples[samples.size() / 10], samples[samples.size() * 9 / 10],
      samples.size(), bytes, bandwidth / 1e6, copy_bandwidth > 0 ? bandwidth / copy_bandwidth : 1.0,
      device_name().c_str());
  std::fflush(stdout);
  return bandwidth;
}

// Copies 1 GiB on the device and reports it; returns bytes per millisecond, read plus written.
inline double report_copy(const std::string& name) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const DeviceVector<unsigned char> from(kBytes), to(kBytes);
  cudaStream_t stream;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto samples = time_in_stream(stream, [&] {
    check_cuda(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream));
  });
  cudaStreamDestroy(stream);
  return report(name, samples, 2.0 * kBytes, 0);
}

}  // namespace tandem::bench
