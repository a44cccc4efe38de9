// SPDX-License-Identifier: Apache-2.0
//
// Serves the parts in order, and writes the texts.
#include "cuda/memory/memory_plan.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string amount(std::uint64_t bytes) {
  char text[32];
  if (bytes >= 100 * kMiB) {
    std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1024.0 * kMiB));
  } else {
    std::snprintf(text, sizeof(text), "%.2f MiB", static_cast<double>(bytes) / kMiB);
  }
  return text;
}

}  // namespace

std::uint64_t memory_reserve(std::uint64_t total_bytes) {
  return std::clamp(total_bytes / 32, 64 * kMiB, 1024 * kMiB);
}

std::string shortage(const std::string& device, Purpose purpose, std::uint64_t needed_bytes,
                     std::uint64_t free_bytes) {
  const char* what = "";
  const char* advice = "";
  switch (purpose) {
    case Purpose::kWeights:
      what = "weights need ";
      advice = "choose a smaller or a quantised model (--quantize), or lower --kv-memory";
      break;
    case Purpose::kActivations:
      what = "activations need ";
      advice = "lower --max-step-tokens or --kv-memory";
      break;
    case Purpose::kWorkspace:
      what = "the workspace of operations needs ";
      advice = "lower --kv-memory or --max-step-tokens";
      break;
    case Purpose::kPages:
      what = "KV pages need ";
      advice = "lower --kv-memory";
      break;
    case Purpose::kStaging:
      what = "staging needs ";
      advice = "lower --max-step-tokens or --max-running";
      break;
  }
  return device + ": " + what + amount(needed_bytes) + ", " + amount(free_bytes) + " are free; " +
         advice;
}

MemoryPlan plan_memory(const MemoryState& state, const MemoryDemand& demand,
                       const std::string& device) {
  MemoryPlan plan;
  plan.reserve_bytes = memory_reserve(state.total_bytes);
  const std::uint64_t usable = state.free_bytes - std::min(state.free_bytes, plan.reserve_bytes);
  const std::uint64_t before = demand.to_come_bytes + demand.workspace_bytes;
  if (before > usable) {
    throw Error("cuda", shortage(device, Purpose::kWeights, before, usable));
  }
  const std::uint64_t left = usable - before;
  const std::uint64_t wanted = demand.kv_bytes > 0 ? demand.kv_bytes : left;
  std::uint64_t pages = wanted / demand.page_bytes;
  if (demand.max_pages > 0) pages = std::min(pages, demand.max_pages);
  pages = std::min<std::uint64_t>(pages, std::numeric_limits<std::int32_t>::max());
  if (pages == 0) {
    throw Error("cuda", device + ": " + amount(wanted) + " for keys and values hold no page of " +
                            amount(demand.page_bytes) +
                            "; raise --kv-memory, or choose a smaller or a quantised model");
  }
  if (pages * demand.page_bytes > left) {
    throw Error("cuda", shortage(device, Purpose::kPages, pages * demand.page_bytes, left));
  }
  plan.kv_pages = static_cast<std::uint32_t>(pages);
  plan.kv_bytes = pages * demand.page_bytes;
  return plan;
}

}  // namespace tandem::cuda
