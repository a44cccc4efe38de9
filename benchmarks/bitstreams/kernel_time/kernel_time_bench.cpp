// SPDX-License-Identifier: Apache-2.0
//
// bench_kernel_time: the modelled cycles of kernels beside those that were co-simulated elsewhere.
//
// One JSON line per kernel, then one per class with the median and the 90th percentile of its
// error, and one with the share of pairs of variants whose order is right.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/bitstreams/kernel_time/cosimulated.h"
#include "benchmarks/bitstreams/kernel_time/timed_kernel.h"
#include "common/error.h"
#include "common/scratch_folder.h"

namespace tandem::kernel_time {
namespace {

double rounded_to(double value, double step) { return std::round(value / step) * step; }

struct Compared {
  std::string family;  // variants of one kernel
  double modelled = 0, told = 0;
  double error() const { return (modelled - told) / told; }
};

// Prints the line of one kernel.
Compared compare(const SynthesisedKernel& kernel, const std::string& folder, const char* measure,
                 const timing::TimedCard& card) {
  const timing::RunTime time =
      time_kernel(std::string(TANDEM_KERNELS) + "/" + kernel.name + ".cpp", folder,
                  TANDEM_HLS_HEADERS, card, unrolled_flags(kernel.unroll, kernel.size));
  const Compared compared{kernel.example, time.cycles, kernel.csynth};
  nlohmann::ordered_json loops = nlohmann::ordered_json::array();
  for (const timing::LoopTime& loop : time.loops) {
    loops.push_back({{"line", loop.line},
                     {"trips", loop.trips},
                     {"ii", loop.ii},
                     {"depth", loop.depth},
                     {"cycles", loop.cycles},
                     {"why", loop.why}});
  }
  nlohmann::ordered_json line = {{"name", "kernel_time." + std::string(kernel.name)},
                                 {"example", kernel.example}};
  if (kernel.unroll > 0) line["unroll"] = kernel.unroll;
  line["modelled"] = time.cycles;
  line[measure] = kernel.csynth;
  line["error"] = rounded_to(compared.error(), 0.001);
  line["limit"] = time.limit;
  line["loops"] = std::move(loops);
  std::puts(line.dump().c_str());
  return compared;
}

Compared compare(const DirectiveKernel& kernel, const std::string& folder) {
  timing::TimedCard card = cosimulation(300.3);
  const timing::RunTime time = time_kernel(std::string(TANDEM_KERNELS) + "/directives.cpp", folder,
                                           TANDEM_HLS_HEADERS, card, kernel.flags, kernel.depth);
  const Compared compared{"directives", time.cycles, kernel.csynth};
  const nlohmann::ordered_json line = {{"name", "kernel_time.directives"},
                                       {"variant", kernel.variant},
                                       {"modelled", time.cycles},
                                       {"synthesised", kernel.csynth},
                                       {"error", rounded_to(compared.error(), 0.001)}};
  std::puts(line.dump().c_str());
  return compared;
}

// Pairs of variants that differ by more than 2 %, and how many the model puts into their order.
void print_order(const char* of, const std::vector<Compared>& all) {
  int pairs = 0, right = 0;
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = a + 1; b < all.size(); ++b) {
      if (all[a].family != all[b].family) continue;
      const double ratio = all[a].told / all[b].told;
      if (std::abs(ratio - 1) < 0.02) continue;
      ++pairs;
      if ((ratio > 1) == (all[a].modelled > all[b].modelled)) ++right;
    }
  }
  const nlohmann::ordered_json line = {{"name", "kernel_time.order"},
                                       {"of", of},
                                       {"pairs", pairs},
                                       {"right", right},
                                       {"share", rounded_to(1.0 * right / pairs, 0.001)}};
  std::puts(line.dump().c_str());
}

void print_errors(const char* of, const std::vector<Compared>& all) {
  std::vector<double> errors;
  for (const Compared& each : all) errors.push_back(std::abs(each.error()));
  std::sort(errors.begin(), errors.end());
  const nlohmann::ordered_json line = {{"name", "kernel_time.error"},
                                       {"of", of},
                                       {"median", rounded_to(errors[errors.size() / 2], 0.001)},
                                       {"p90", rounded_to(errors[errors.size() * 9 / 10], 0.001)},
                                       {"largest", rounded_to(errors.back(), 0.001)},
                                       {"kernels", errors.size()}};
  std::puts(line.dump().c_str());
}

int run() {
  const ScratchFolder folder("time", "tandem-kernel-time.");
  std::vector<Compared> cosimulated, synthesised, predicted, directives;
  for (const DirectiveKernel& each : directive_kernels()) {
    directives.push_back(compare(each, folder.path()));
  }
  for (const CosimulatedKernel& each : kCosimulated) {
    cosimulated.push_back(compare({each.name, each.example, 0, each.cosim}, folder.path(),
                                  "cosimulated", cosimulation()));
  }
  for (const SynthesisedKernel& each : kSynthesised) {
    synthesised.push_back(compare(each, folder.path(), "synthesised", cosimulation(250)));
  }
  for (const SynthesisedKernel& each : kPredicted) {
    predicted.push_back(compare(each, folder.path(), "synthesised", cosimulation(250)));
  }
  print_errors("co-simulated", cosimulated);
  print_errors("synthesised, unrolled", synthesised);
  print_order("synthesised, unrolled", synthesised);
  print_errors("predicted, unrolled", predicted);
  print_order("predicted, unrolled", predicted);
  print_errors("no rule, directives", directives);
  print_order("no rule, directives", directives);
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
