// SPDX-License-Identifier: Apache-2.0
//
// Merges the ranks' supports once, counting how many ranks hold each unit or block.
#include "tensor/sparse/supports.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>
#include <vector>

namespace tandem::sparse {
namespace {

using IdsOfRanks = std::vector<std::vector<std::uint32_t>>;

// How many ids are held by exactly m ranks. ids: per rank, ascending, unique.
std::vector<double> count_holders(const IdsOfRanks& ids) {
  std::vector<double> held_by(ids.size() + 1, 0);
  using Head = std::pair<std::uint32_t, std::size_t>;  // id, rank
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::size_t> at(ids.size(), 0);
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    if (!ids[rank].empty()) heads.emplace(ids[rank][0], rank);
  }
  while (!heads.empty()) {
    const std::uint32_t id = heads.top().first;
    std::size_t holders = 0;
    while (!heads.empty() && heads.top().first == id) {
      const std::size_t rank = heads.top().second;
      heads.pop();
      ++holders;
      if (++at[rank] < ids[rank].size()) heads.emplace(ids[rank][at[rank]], rank);
    }
    held_by[holders] += 1;
  }
  return held_by;
}

IdsOfRanks ids_of(std::span<const SparseVector> by_rank, std::uint64_t units_per_id) {
  IdsOfRanks ids;
  for (const SparseVector& vector : by_rank) {
    auto& own = ids.emplace_back();
    for (std::uint32_t unit : vector.indices<std::uint32_t>()) {
      const auto id = static_cast<std::uint32_t>(unit / units_per_id);
      if (own.empty() || own.back() != id) own.push_back(id);
    }
  }
  return ids;
}

// Entries per even range. [num_ranges]
std::vector<double> histogram(std::span<const std::uint32_t> ids, std::uint64_t num_units,
                              std::size_t num_ranges) {
  std::vector<double> counts(num_ranges, 0);
  const std::uint64_t range = std::max<std::uint64_t>(1, (num_units + num_ranges - 1) / num_ranges);
  for (std::uint32_t id : ids) counts[id / range] += 1;
  return counts;
}

double busiest_over_mean(const std::vector<double>& counts) {
  double sum = 0;
  for (double count : counts) sum += count;
  const double most = *std::max_element(counts.begin(), counts.end());
  return sum == 0 ? 1 : most * static_cast<double>(counts.size()) / sum;
}

double overlap_of(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  const std::size_t least = std::min(a.size(), b.size());
  if (least == 0) return 0;
  std::vector<std::uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(least);
}

std::vector<std::uint32_t> union_of(const IdsOfRanks& ids) {
  std::vector<std::uint32_t> all;
  for (const auto& own : ids) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

std::vector<double> union_sizes(std::span<const double> held_by) {
  const std::size_t world = held_by.size() - 1;
  std::vector<double> sizes(world + 1, 0);
  for (std::size_t held = 1; held <= world; ++held) {
    if (held_by[held] == 0) continue;
    double missed = 1;  // C(n - m, k) / C(n, k), by k
    for (std::size_t chosen = 1; chosen <= world; ++chosen) {
      const auto left = static_cast<double>(world) - static_cast<double>(chosen - 1);
      missed *= std::max(0.0, (left - static_cast<double>(held)) / left);
      sizes[chosen] += held_by[held] * (1 - missed);
    }
  }
  return sizes;
}

SupportStatistics measure_supports(std::span<const SparseVector> by_rank) {
  SupportStatistics statistics;
  const auto ids = ids_of(by_rank, 1);
  const std::uint64_t num_units = by_rank.front().domain().num_units;
  std::vector<double> total(ids.size(), 0);
  double entries = 0;
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    entries += static_cast<double>(ids[rank].size());
    const auto counts = histogram(ids[rank], num_units, ids.size());
    for (std::size_t range = 0; range < counts.size(); ++range) total[range] += counts[range];
    if (rank > 0) statistics.overlap += overlap_of(ids[rank - 1], ids[rank]);
  }
  const auto ranks = static_cast<double>(ids.size());
  if (ids.size() > 1) statistics.overlap /= ranks - 1;
  statistics.density = entries / ranks / static_cast<double>(num_units);
  statistics.skew = busiest_over_mean(total);
  statistics.union_entries = static_cast<double>(union_of(ids).size());
  return statistics;
}

UnionStatistics measure_unions(std::span<const SparseVector> by_rank, std::uint64_t units_per_id) {
  const IdsOfRanks ids = ids_of(by_rank, units_per_id);
  const std::uint64_t num_units = by_rank.front().domain().num_units;
  const std::uint64_t num_ids = (num_units + units_per_id - 1) / units_per_id;
  UnionStatistics unions;
  unions.sizes = union_sizes(count_holders(ids));
  for (const auto& own : ids) {
    unions.push_imbalance =
        std::max(unions.push_imbalance, busiest_over_mean(histogram(own, num_ids, ids.size())));
    unions.most_ids = std::max(unions.most_ids, own.size());
  }
  unions.pull_imbalance = busiest_over_mean(histogram(union_of(ids), num_ids, ids.size()));
  return unions;
}

}  // namespace tandem::sparse
