// SPDX-License-Identifier: Apache-2.0
//
// Ties go to the first fragment, and to the first bin.
#include "collectives/sparsifier/deft_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::collectives {
namespace {

template <typename Key>
std::vector<std::size_t> descending(std::span<const Key> keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
  return order;
}

}  // namespace

std::vector<Fragment> fragments_of(std::span<const std::uint64_t> layer_sizes, int world) {
  const auto n = static_cast<std::uint64_t>(world);
  const std::uint64_t total =
      std::accumulate(layer_sizes.begin(), layer_sizes.end(), std::uint64_t{0});
  std::vector<Fragment> fragments;
  std::uint64_t begin = 0;
  for (const std::uint64_t size : layer_sizes) {
    const std::uint64_t pieces = size * n > total ? std::min(n, size) : 1;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      fragments.push_back({begin + size * piece / pieces, begin + size * (piece + 1) / pieces});
    }
    begin += size;
  }
  return fragments;
}

std::vector<std::uint64_t> entries_of(std::span<const Fragment> fragments,
                                      std::span<const double> norms, std::uint64_t k) {
  double norms_left = std::accumulate(norms.begin(), norms.end(), 0.0);
  auto left = static_cast<double>(k);
  std::vector<std::uint64_t> entries(fragments.size());
  for (const std::size_t at : descending(norms)) {
    const double share = norms_left > 0 ? std::min(1.0, norms[at] / norms_left) : 0;
    const auto size = static_cast<double>(fragments[at].size());
    const double count = std::clamp(std::round(left * share), 1.0, size);
    entries[at] = static_cast<std::uint64_t>(count);
    left = std::max(0.0, left - count);
    norms_left -= norms[at];
  }
  return entries;
}

std::vector<int> bins_of(std::span<const Fragment> fragments,
                         std::span<const std::uint64_t> entries, int num_bins) {
  std::vector<double> costs(fragments.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i] =
        static_cast<double>(fragments[i].size()) * std::log2(1 + static_cast<double>(entries[i]));
  }
  std::vector<double> loads(static_cast<std::size_t>(num_bins));
  std::vector<int> bins(fragments.size());
  for (const std::size_t at : descending(std::span<const double>(costs))) {
    const auto lightest = std::min_element(loads.begin(), loads.end());
    *lightest += costs[at];
    bins[at] = static_cast<int>(lightest - loads.begin());
  }
  return bins;
}

}  // namespace tandem::collectives
