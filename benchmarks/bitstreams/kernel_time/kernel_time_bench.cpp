// SPDX-License-Identifier: Apache-2.0
//
// bench_kernel_time: the modelled cycles of kernels beside those that were co-simulated elsewhere.
//
// One JSON line per kernel, then one with the median and the 90th percentile of the error of those
// that were co-simulated.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "benchmarks/bitstreams/kernel_time/cosimulated.h"
#include "benchmarks/bitstreams/kernel_time/timed_kernel.h"
#include "common/error.h"
#include "common/scratch_folder.h"

namespace tandem::kernel_time {
namespace {

double rounded_to(double value, double step) { return std::round(value / step) * step; }

// Prints the line of one kernel and returns its error.
double compare(const std::string& name, const std::string& folder, const char* measure,
               double cycles, const timing::TimedCard& card) {
  const timing::RunTime time = time_kernel(std::string(TANDEM_KERNELS) + "/" + name + ".cpp",
                                           folder, TANDEM_HLS_HEADERS, card);
  const double error = (time.cycles - cycles) / cycles;
  nlohmann::ordered_json loops = nlohmann::ordered_json::array();
  for (const timing::LoopTime& loop : time.loops) {
    loops.push_back({{"line", loop.line},
                     {"trips", loop.trips},
                     {"ii", loop.ii},
                     {"depth", loop.depth},
                     {"cycles", loop.cycles},
                     {"why", loop.why}});
  }
  const nlohmann::ordered_json line = {
      {"name", "kernel_time." + name},     {"modelled", time.cycles}, {measure, cycles},
      {"error", rounded_to(error, 0.001)}, {"limit", time.limit},     {"loops", std::move(loops)}};
  std::puts(line.dump().c_str());
  return std::abs(error);
}

int run() {
  const ScratchFolder folder("time", "tandem-kernel-time.");
  std::vector<double> errors;
  for (const CosimulatedKernel& each : kCosimulated) {
    errors.push_back(compare(each.name, folder.path(), "cosimulated", each.cosim, cosimulation()));
  }
  for (const SynthesisedKernel& each : kSynthesised) {
    compare(each.name, folder.path(), "synthesised", each.csynth, cosimulation(250));
  }
  std::sort(errors.begin(), errors.end());
  const nlohmann::ordered_json line = {{"name", "kernel_time.error"},
                                       {"median", rounded_to(errors[errors.size() / 2], 0.001)},
                                       {"p90", rounded_to(errors[errors.size() * 9 / 10], 0.001)},
                                       {"unit", "of the co-simulated cycles"},
                                       {"kernels", errors.size()}};
  std::puts(line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace tandem::kernel_time

int main() {
  try {
    return tandem::kernel_time::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_kernel_time: %s\n", error.what());
    return 1;
  }
}
