// SPDX-License-Identifier: Apache-2.0
//
// Progress goes to standard error, the rest to the log.
#include "apps/load_messages.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>

namespace tandem::apps {

std::function<void(double)> load_progress(const std::string& path) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [path, terminal, last = 0](double fraction) mutable {
    const int percent =
        static_cast<int>(fraction * 100) / (terminal ? 1 : 10) * (terminal ? 1 : 10);
    if (percent <= last) return;
    last = percent;
    if (!terminal) {
      if (percent < 100) spdlog::info("loading {}: {} %", path, percent);
      return;
    }
    std::fprintf(stderr, "\rloading %s: %3d %%%s", path.c_str(), percent,
                 fraction >= 1 ? "\n" : "");
    std::fflush(stderr);
  };
}

void log_weights(const engine::LoadedWeights& weights, const std::string& quantize) {
  if (weights.quantised == 0) {
    if (quantize != "none") {
      spdlog::warn("--quantize {} has no effect: it makes no matrix of this model smaller",
                   quantize);
    }
    return;
  }
  std::string types;
  for (const auto& [dtype, values] : weights.values) {
    types += fmt::format("{}{} {:.1f} M", types.empty() ? "" : ", ", dtype_name(dtype),
                         static_cast<double>(values) / 1e6);
  }
  constexpr double kMiB = 1 << 20;
  spdlog::info("converted {} matrices in {:.1f} s, {:.1f} MiB to {:.1f}: now {:.1f} MiB ({})",
               weights.quantised, weights.quantise_seconds,
               static_cast<double>(weights.quantised_from_bytes) / kMiB,
               static_cast<double>(weights.quantised_to_bytes) / kMiB,
               static_cast<double>(weights.bytes) / kMiB, types);
}

}  // namespace tandem::apps
