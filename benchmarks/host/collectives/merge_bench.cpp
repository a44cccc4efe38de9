// SPDX-License-Identifier: Apache-2.0
//
// Sparse merge on one core: input entries per second, f32 of width 1, by number of parts and
// density; against a plain read of the parts' bytes. Two million entries in all.
#include <cstdio>
#include <cstdlib>

#include "kernel_samples.h"
#include "tensor/sparse/merge.h"
#include "tensor/sparse/merge_windows.h"

namespace tandem::bench {
namespace {

using sparse::Reduction;
using sparse::SparseVector;

void measure(std::size_t num_parts, double density) {
  constexpr double kEntries = 2e6;
  const auto num_units =
      static_cast<std::uint64_t>(kEntries / static_cast<double>(num_parts) / density);
  std::vector<SparseVector> parts;
  std::size_t total = 0;
  for (std::size_t part = 0; part < num_parts; ++part) {
    parts.push_back(random_support(num_units, density, part));
    total += parts.back().num_entries();
  }
  const SparseVector sum = merge(parts, Reduction::kSum);
  const SparseVector expected = merge_by_keys(parts, Reduction::kSum);
  if (!std::ranges::equal(sum.indices<std::uint32_t>(), expected.indices<std::uint32_t>()) ||
      !std::ranges::equal(sum.value_bytes(), expected.value_bytes())) {
    std::fprintf(stderr, "merge_bench: wrong sum\n");
    std::exit(1);
  }
  const std::vector<std::byte> as_large(total * 8, std::byte{1});
  char name[64];
  std::snprintf(name, sizeof name, "merge/parts%zu_density%g", num_parts, density);
  measure_against_read(name, as_large, static_cast<double>(total),
                       [&] { merge(parts, Reduction::kSum); });
}

}  // namespace
}  // namespace tandem::bench

int main() {
  for (const std::size_t num_parts : {2, 8, 16}) {
    for (const double density : {0.001, 0.01, 0.1}) tandem::bench::measure(num_parts, density);
  }
}
