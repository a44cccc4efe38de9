// SPDX-License-Identifier: Apache-2.0
//
// The table for people, JSON lines for programs, and the matrices as files.
#include "apps/collectives/bench_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace tandem::apps {
namespace {

// `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

struct Times {
  double median, p10, p90;
};

Times times_of(const SchemeResult& scheme) {
  std::vector<double> sorted = scheme.seconds;
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.5), quantile(sorted, 0.1), quantile(sorted, 0.9)};
}

std::uint64_t total_bytes(const trace::CommunicationMatrix& traffic) {
  std::uint64_t total = 0;
  for (int from = 0; from < traffic.world(); ++from) {
    for (int to = 0; to < traffic.world(); ++to) total += traffic.bytes(from, to);
  }
  return total;
}

nlohmann::json scheme_json(const BenchOptions& options, const BenchResult& result,
                           const SchemeResult& scheme) {
  nlohmann::json line = {{"name", "sparse_allreduce"},
                         {"scheme", scheme.scheme},
                         {"transport", result.transport},
                         {"world", result.world},
                         {"pattern", options.pattern},
                         {"units", result.num_units},
                         {"width", result.width},
                         {"density", result.density},
                         {"union_density", result.union_density},
                         {"type", options.type},
                         {"codec", options.codec},
                         {"aggregator", options.aggregator}};
  if (!scheme.refusal.empty()) {
    line["refused"] = scheme.refusal;
    return line;
  }
  const Times times = times_of(scheme);
  line.update({{"chosen", scheme.chosen},
               {"unit", "s"},
               {"median", times.median},
               {"p10", times.p10},
               {"p90", times.p90},
               {"samples", scheme.seconds.size()},
               {"verified", options.verify},
               {"bytes", total_bytes(scheme.traffic)},
               {"steps", scheme.steps},
               {"send_imbalance", scheme.traffic.send_imbalance()},
               {"receive_imbalance", scheme.traffic.receive_imbalance()}});
  if (scheme.aggregation_modelled_s > 0) {
    line["aggregation_modelled_s"] = scheme.aggregation_modelled_s;
  }
  if (options.aggregator != "cpu") line["aggregation_fallbacks"] = scheme.fallbacks;
  return line;
}

void print_table(const BenchOptions& options, const BenchResult& result) {
  fmt::print("{} ranks over {}; {} units of {} {} value{}, density {:.4g} %, of the sum {:.4g} %\n",
             result.world, result.transport, result.num_units, result.width, options.type,
             result.width == 1 ? "" : "s", 100 * result.density, 100 * result.union_density);
  fmt::print("{:<28} {:>10} {:>10} {:>10} {:>12} {:>6} {:>10} {:>10}\n", "scheme", "median ms",
             "p10", "p90", "MB in all", "steps", "send imb.", "recv imb.");
  for (const SchemeResult& scheme : result.schemes) {
    if (!scheme.refusal.empty()) {
      fmt::print("{:<28} not run: {}\n", scheme.scheme, scheme.refusal);
      continue;
    }
    const Times times = times_of(scheme);
    fmt::print("{:<28} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f} {:>6} {:>10.3f} {:>10.3f}",
               scheme.scheme, 1e3 * times.median, 1e3 * times.p10, 1e3 * times.p90,
               static_cast<double>(total_bytes(scheme.traffic)) / 1e6, scheme.steps,
               scheme.traffic.send_imbalance(), scheme.traffic.receive_imbalance());
    if (scheme.chosen != scheme.scheme) fmt::print("  took {}", scheme.chosen);
    fmt::print("\n");
  }
  fmt::print(
      "ms: a call's time on its slowest rank, headers included; steps: of the busiest rank; MB: "
      "sent\n"
      "by all ranks; imb.: busiest rank over the mean, of bytes sent and received\n");
  for (const SchemeResult& scheme : result.schemes) {
    if (scheme.aggregation_modelled_s > 0) {
      fmt::print("{}: {} models {:.3f} ms of its own time per call ({} sums left to the CPU)\n",
                 scheme.scheme, options.aggregator, 1e3 * scheme.aggregation_modelled_s,
                 scheme.fallbacks);
    }
  }
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw Error("allreduce-bench", "cannot write " + path);
}

}  // namespace

void print_result(const BenchOptions& options, const BenchResult& result) {
  if (options.json) {
    for (const SchemeResult& scheme : result.schemes) {
      fmt::print("{}\n", scheme_json(options, result, scheme).dump());
    }
  } else {
    print_table(options, result);
  }
  if (!options.explain) return;
  // With JSON lines on stdout the explanation is written to another stream, so that programs can
  // read the lines.
  for (const SchemeResult& scheme : result.schemes) {
    if (!scheme.explanation.empty()) {
      fmt::print(options.json ? stderr : stdout, "\n{}:\n{}\n", scheme.scheme, scheme.explanation);
    }
  }
}

void write_matrices(const BenchOptions& options, const BenchResult& result) {
  if (options.matrix.empty()) return;
  for (const SchemeResult& scheme : result.schemes) {
    if (!scheme.refusal.empty()) continue;
    const std::string path = options.matrix + "-" + scheme.scheme;
    write_file(path + ".csv", scheme.traffic.to_csv());
    write_file(path + ".svg",
               scheme.traffic.to_svg(fmt::format("{}: {} ranks over {}, one call", scheme.scheme,
                                                 result.world, result.transport)));
  }
}

}  // namespace tandem::apps
