// SPDX-License-Identifier: Apache-2.0
//
// What a message costs the program that sends it, in nanoseconds of processor time: sums only, time
// windows, and single events (the second case has the first touch of their memory).
//
// Beside each the reading of the clock, in the same sample. The result is verified: the record that
// is written has the bytes of all messages.
#include <ctime>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "drivers/cpu/samples.h"
#include "trace/communication/recorder.h"

namespace tandem::bench {
namespace {

constexpr int kMessages = 50'000, kBytes = 100;

double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double ns_each(double begin_s) { return (processor_s() - begin_s) / kMessages * 1e9; }

double clock_ns() {
  double sum = 0;
  const double begin_s = processor_s();
  for (int i = 0; i < kMessages; ++i) sum += unix_s();
  if (sum < 0) std::abort();
  return ns_each(begin_s);
}

void verify(const trace::TrafficRecorder& recorder) {
  const std::string path = "/tmp/bench_traffic_recorder." + std::to_string(clock());
  if (!recorder.write(path, {0, 4, "node", "ring"})) std::abort();
  std::ifstream file(path);
  long long bytes = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cell ")) continue;
    const std::size_t end = line.rfind(' ');
    bytes += std::atoll(line.c_str() + line.rfind(' ', end - 1));
  }
  std::remove(path.c_str());
  if (bytes == static_cast<long long>(kMessages) * kBytes) return;
  std::fprintf(stderr, "the record has %lld bytes\n", bytes);
  std::exit(1);
}

void measure(const std::string& name, double window_s, std::size_t most_events) {
  std::vector<double> times, clocks;
  for (int sample = -3; sample < kSamples; ++sample) {
    trace::TrafficRecorder recorder(unix_s(), window_s, unix_s, most_events);
    const double begin_s = processor_s();
    for (int i = 0; i < kMessages; ++i) {
      recorder.add({"mpi_point_to_point", "send", 0, i & 3, kBytes, 1});
    }
    const double each_ns = ns_each(begin_s);
    verify(recorder);
    if (sample < 0) continue;
    times.push_back(each_ns);
    clocks.push_back(clock_ns());
  }
  print_figure("traffic_recorder." + name, times, "ns/message",
               {{"clock_ns", quantile(clocks, 0.5)}});
}

}  // namespace
}  // namespace tandem::bench

int main() {
  tandem::bench::measure("sums", 0, 0);
  tandem::bench::measure("windows", 0.1, 0);
  tandem::bench::measure("events", 0, 1'000'000);
  tandem::bench::measure("events_beyond_the_most", 0, 1);
}
