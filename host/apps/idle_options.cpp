// SPDX-License-Identifier: Apache-2.0
//
// One rule per option. A value that is the default counts as not given, but for --rings.
#include "apps/idle_options.h"

#include <spdlog/fmt/fmt.h>

namespace tandem::apps {
namespace {

constexpr const char* kOneHolder = "one device holds all KV";
constexpr const char* kOnlyCpu = "the CPU is the only device, and it cannot be lost";

}  // namespace

std::vector<std::string> idle_options(const RuntimeOptions& options, const UsedDevices& used) {
  const RuntimeOptions unset;
  std::vector<std::string> lines;
  const auto add = [&](bool is_idle, const std::string& option, const std::string& reason) {
    if (is_idle) lines.push_back(fmt::format("{} has no effect: {}", option, reason));
  };
  add(options.split != unset.split && used.num_computing == 1, "--split " + options.split,
      "--compute names one device (" + options.compute + ")");
  add(options.rings.has_value() && (!used.computes_apart || used.num_outside == 0), "--rings",
      "it needs a GPU that computes, and attention devices beside it");
  add(options.early_query != unset.early_query && used.num_behind_link == 0, "--early-query",
      "no attention device is behind a link");
  const bool has_one_holder = used.num_attending == 1;
  add(options.placement != unset.placement && has_one_holder, "--placement " + options.placement,
      kOneHolder);
  add(options.kv_moves && has_one_holder, "--kv-moves", kOneHolder);
  add(options.draft_tokens != unset.draft_tokens && options.draft.empty(), "--draft-tokens",
      "--draft is not given, so nothing guesses tokens");
  add(options.share_prefixes && options.no_prefix_cache, "--share-prefixes",
      "--no-prefix-cache keeps no prefix");
  add(options.device_timeout_ms != unset.device_timeout_ms && used.are_all_the_cpu,
      "--device-timeout-ms", kOnlyCpu);
  add(options.revive_seconds != unset.revive_seconds && used.are_all_the_cpu, "--revive-seconds",
      kOnlyCpu);
  return lines;
}

}  // namespace tandem::apps
