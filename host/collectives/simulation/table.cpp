// SPDX-License-Identifier: Apache-2.0
//
// The result of a simulation for people and for programs.
#include <algorithm>
#include <cstdio>

#include "collectives/simulation/simulation.h"

namespace tandem::collectives {
namespace {

template <typename... Args>
std::string print(const char* format, Args... args) {
  char line[512];
  std::snprintf(line, sizeof(line), format, args...);
  return line;
}

}  // namespace

std::string simulation_table(const SimulationResult& result) {
  const auto units = static_cast<double>(result.workload.domain.num_units);
  std::string text = print(
      "%.0f units of %u values, density %.4g %%, skew %.3g, overlap %.3g, densification %.3g; "
      "dense ring %.2f ms\n",
      units, result.workload.domain.width, 100 * result.statistics.density, result.statistics.skew,
      result.statistics.overlap, result.densification, result.dense_ring_s * 1e3);
  text += print("%-26s %12s %12s %9s %9s %7s %12s %12s %7s\n", "scheme", "ms", "predicted ms",
                "x dense", "all parts", "steps", "sent MB", "received MB", "scale");
  for (const SimulatedScheme& scheme : result.schemes) {
    if (!scheme.refusal.empty()) {
      text += print("%-26s ", scheme.name.c_str()) + "cannot run: " + scheme.refusal + "\n";
      continue;
    }
    text +=
        print("%-26s %12.3f %12.3f %9.2f %9.2f %7.0f %12.3f %12.3f %7llu\n", scheme.name.c_str(),
              scheme.seconds * 1e3, scheme.predicted_s * 1e3, scheme.ratio_to_dense,
              scheme.ratio_with_rest, scheme.steps, scheme.bytes_sent / 1e6,
              scheme.bytes_received / 1e6, static_cast<unsigned long long>(scheme.scale));
  }
  return text;
}

std::string simulation_json(const SimulationOptions& options, const SimulationResult& result) {
  const simulated::NetworkOptions& network = options.network;
  std::string text = print(
      "{\"model\": \"%s\", \"units\": %llu, \"width\": %u, \"density\": %.6g, \"skew\": %.6g, "
      "\"overlap\": %.6g, \"densification\": %.6g, ",
      options.model.c_str(), static_cast<unsigned long long>(result.workload.domain.num_units),
      result.workload.domain.width, result.statistics.density, result.statistics.skew,
      result.statistics.overlap, result.densification);
  text += print(
      "\"world\": %d, \"ranks_per_node\": %d, \"gbit_per_s\": %.6g, \"latency_us\": %.6g, "
      "\"oversubscription\": %.6g, \"dense_ring_s\": %.9g, \"schemes\": [",
      network.world, network.ranks_per_node, network.bandwidth_bytes_per_s * 8e-9,
      network.latency_s * 1e6, network.oversubscription, result.dense_ring_s);
  const char* separator = "";
  for (const SimulatedScheme& scheme : result.schemes) {
    text += separator;
    separator = ", ";
    if (!scheme.refusal.empty()) {
      std::string refusal = scheme.refusal;
      std::replace(refusal.begin(), refusal.end(), '"', '\'');
      text += "{\"scheme\": \"" + scheme.name + "\", \"refusal\": \"" + refusal + "\"}";
      continue;
    }
    text += print(
        "{\"scheme\": \"%s\", \"seconds\": %.9g, \"predicted_s\": %.9g, \"ratio_to_dense\": %.6g, "
        "\"ratio_with_rest\": %.6g, \"steps\": %.0f, ",
        scheme.name.c_str(), scheme.seconds, scheme.predicted_s, scheme.ratio_to_dense,
        scheme.ratio_with_rest, scheme.steps);
    text += print("\"bytes_sent\": %.0f, \"bytes_received\": %.0f, \"total_bytes\": %.0f}",
                  scheme.bytes_sent, scheme.bytes_received, scheme.total_bytes);
  }
  return text + "]}";
}

}  // namespace tandem::collectives
