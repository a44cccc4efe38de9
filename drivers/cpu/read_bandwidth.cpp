// SPDX-License-Identifier: Apache-2.0
//
// ReadProbe: passes over memory in three ways (one stream per thread, four streams, four streams
// with prefetch), in parts of 1 MiB that the team shares by regions; the best counts.
#include "cpu/read_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "common/available_memory.h"
#include "cpu/kernels/speed/stream.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20;
constexpr std::size_t kQuickBytes = std::size_t{128} << 20;  // several times a last-level cache
constexpr int kQuickPasses = 3;

}  // namespace

ReadProbe::ReadProbe(Team& team, std::size_t size_bytes)
    : team_(team),
      memory_(size_bytes / kPart * kPart),
      parts_(
          team.regions(tiling::box_of<1>({static_cast<std::int64_t>(size_bytes / kPart)}), {1})) {
  team_.place(parts_, [&](const tiling::Box<1>& tile, std::size_t) {
    const auto part = static_cast<std::size_t>(tile.lower[0]);
    std::memset(memory_.data() + part * kPart, static_cast<int>(part % 251) + 1, kPart);
  });
}

double ReadProbe::measure() {
  double best = 0;
  std::vector<std::uint64_t> sums(memory_.size_bytes() / kPart);
  for (const ReadPattern pattern :
       {ReadPattern::kOneStream, ReadPattern::kFourStreams, ReadPattern::kPrefetch}) {
    const auto start = std::chrono::steady_clock::now();
    team_.run_regions(parts_, [&](const tiling::Box<1>& tile, std::size_t) {
      const auto part = static_cast<std::size_t>(tile.lower[0]);
      sums[part] = read_stream(pattern, memory_.data() + part * kPart, kPart);
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(memory_.size_bytes()) / time.count());
  }
  return best;
}

std::size_t probe_bytes(std::size_t wanted_bytes, std::uint64_t left_bytes) {
  const std::uint64_t parts = std::min<std::uint64_t>(wanted_bytes, left_bytes / 4) / kPart;
  return static_cast<std::size_t>(std::max<std::uint64_t>(parts, 1)) * kPart;
}

double read_bandwidth(const ThreadPlan& plan) {
  static std::mutex mutex;
  static std::vector<std::pair<ThreadPlan, double>> known;
  const std::lock_guard lock(mutex);
  for (const auto& [measured, bandwidth] : known) {
    if (measured == plan) return bandwidth;
  }
  Team team(plan);
  ReadProbe probe(team, probe_bytes(kQuickBytes, available_memory().left_bytes));
  double bandwidth = 0;
  for (int pass = 0; pass < kQuickPasses; ++pass) bandwidth = std::max(bandwidth, probe.measure());
  known.emplace_back(plan, bandwidth);
  return bandwidth;
}

}  // namespace tandem::device::cpu
