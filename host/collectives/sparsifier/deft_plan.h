// SPDX-License-Identifier: Apache-2.0
//
// DEFT's plan of a step: the fragments of layers, the number of entries from each, and the rank
// that selects them.
//
// Pure functions of numbers that all ranks have, so all ranks make the same plan, and it is not
// sent. Source: deft.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::collectives {

struct Fragment {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

// Layers above N / n values in n equal pieces, the others whole; in order.
std::vector<Fragment> fragments_of(std::span<const std::uint64_t> layer_sizes, int world);

// By descending norm: clamp(what is left of k times norm / what is left of the norms, 1, size).
std::vector<std::uint64_t> entries_of(std::span<const Fragment> fragments,
                                      std::span<const double> norms, std::uint64_t k);

// The bin of each fragment: longest processing time first, cost size log2(1 + entries).
std::vector<int> bins_of(std::span<const Fragment> fragments,
                         std::span<const std::uint64_t> entries, int num_bins);

}  // namespace tandem::collectives
