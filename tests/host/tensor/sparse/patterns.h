// SPDX-License-Identifier: Apache-2.0
//
// Vectors for codec and kernel tests: a count, a pattern, a type, a width, a domain; deterministic.
// Patterns: uniform, one run, every unit, first and last unit, around the borders of chunks, blocks
// and words. Values are never the identity of a reduction and are exact in f16 and bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse::test {

// A domain whose units need 64 bits.
inline constexpr std::uint64_t kWideUnits = (std::uint64_t{1} << 33) + 77;

enum class Pattern : std::uint8_t { kUniform, kRun, kAll, kEnds, kBorders };
inline constexpr Pattern kPatterns[] = {Pattern::kUniform, Pattern::kRun, Pattern::kAll,
                                        Pattern::kEnds, Pattern::kBorders};

inline std::vector<std::uint64_t> pattern_units(Pattern pattern, std::uint64_t num_units,
                                                std::size_t count, std::uint64_t seed) {
  std::set<std::uint64_t> units;
  const std::size_t limit = static_cast<std::size_t>(std::min<std::uint64_t>(count, num_units));
  std::mt19937_64 random(seed);
  const auto add = [&](std::uint64_t unit) {
    if (unit < num_units && units.size() < limit) units.insert(unit);
  };
  switch (pattern) {
    case Pattern::kUniform:
      while (units.size() < limit) add(random() % num_units);
      break;
    case Pattern::kRun:
      for (std::uint64_t i = 0; i < limit; ++i) add((num_units - limit) / 2 + i);
      break;
    case Pattern::kAll:
      for (std::uint64_t i = 0; i < num_units; ++i) add(i);
      break;
    case Pattern::kEnds:
      add(0);
      add(num_units - 1);
      break;
    case Pattern::kBorders:
      for (const std::uint64_t step : {65536, 256, 64, 128}) {
        for (std::uint64_t at = step; at < num_units + step && units.size() < limit; at += step) {
          for (const std::uint64_t unit : {at - 1, at, at + 1}) add(unit);
        }
      }
      break;
  }
  return {units.begin(), units.end()};
}

// 1, 1.5, -2.25, ...: few bits; differs from entry to entry and is never 0.
template <typename T>
T value_of(std::size_t at) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(at * 0x9e3779b97f4a7c15ull + 1);
  const T magnitude = static_cast<T>(1 + at % 127) / 4;
  return at % 3 == 1 ? -magnitude : magnitude;
}

inline SparseVector vector_of(Domain domain, DType type, const std::vector<std::uint64_t>& units) {
  SparseVector vector(domain, type);
  vector.resize(units.size());
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    for (std::size_t at = 0; at < units.size(); ++at) {
      vector.indices<I>()[at] = static_cast<I>(units[at]);
      for (std::size_t i = 0; i < domain.width; ++i) {
        vector.values<T>()[at * domain.width + i] = value_of<T>(units[at] * domain.width + i);
      }
    }
  });
  return vector;
}

// Bit for bit.
inline bool same(const SparseVector& a, const SparseVector& b) {
  if (a.domain() != b.domain() || a.type() != b.type() || a.num_entries() != b.num_entries()) {
    return false;
  }
  for (std::size_t at = 0; at < a.num_entries(); ++at) {
    if (a.index_at(at) != b.index_at(at)) return false;
  }
  return std::ranges::equal(a.value_bytes(), b.value_bytes());
}

}  // namespace tandem::sparse::test
