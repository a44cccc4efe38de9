// SPDX-License-Identifier: Apache-2.0
//
// DEFT's plan of a step: the fragments of layers, the number of entries from each, and the rank
// that selects them.
//
// Pure functions of numbers that all ranks have, so all ranks make the same plan without sending
// it. Source: deft.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::collectives {

struct Fragment {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

// Divides layers of more than N / n values into n equal pieces; other layers stay whole. In order.
std::vector<Fragment> fragments_of(std::span<const std::uint64_t> layer_sizes, int world);

// Entries per fragment, by descending norm: clamp(rest of k * norm / rest of the norms, 1, size).
std::vector<std::uint64_t> entries_of(std::span<const Fragment> fragments,
                                      std::span<const double> norms, std::uint64_t k);

// The rank of each fragment: longest processing time first, with cost size * log2(1 + entries).
std::vector<int> bins_of(std::span<const Fragment> fragments,
                         std::span<const std::uint64_t> entries, int num_bins);

}  // namespace tandem::collectives
