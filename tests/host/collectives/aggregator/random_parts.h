// SPDX-License-Identifier: Apache-2.0
//
// Random parts for aggregators, and the comparison of results bit for bit; what a NaN carries
// besides being one is free.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "collectives/frames/vocabulary.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives::test {

template <typename T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return random();  // sums wrap
  } else {
    switch (random() % 40) {
      case 0:
        return std::numeric_limits<T>::quiet_NaN();
      case 1:
        return std::numeric_limits<T>::infinity();
      case 2:
        return -std::numeric_limits<T>::infinity();
      case 3:
        return -T{0};
      case 4:
        return std::numeric_limits<T>::denorm_min() * static_cast<T>(random() % 1000);
      default:
        return static_cast<T>(std::normal_distribution<double>()(random) *
                              (random() % 2 == 0 ? 1e-3 : 1e6));
    }
  }
}

inline SparseVector random_part(Domain domain, DType type, std::size_t count,
                                std::mt19937_64& random) {
  std::set<std::uint64_t> units;
  while (units.size() < std::min<std::uint64_t>(count, domain.num_units)) {
    units.insert(random() % domain.num_units);
  }
  SparseVector part(domain, type);
  part.resize(units.size());
  visit_types(part, [&](auto index, auto value) {
    std::size_t at = 0;
    for (const std::uint64_t unit : units) {
      part.indices<decltype(index)>()[at++] = static_cast<decltype(index)>(unit);
    }
    for (auto& v : part.values<decltype(value)>()) v = random_value<decltype(value)>(random);
  });
  return part;
}

inline void expect_same_bits(const SparseVector& got, const SparseVector& want) {
  ASSERT_EQ(got.num_entries(), want.num_entries());
  ASSERT_EQ(got.domain(), want.domain());
  visit_types(want, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    for (std::size_t i = 0; i < want.num_entries(); ++i) {
      ASSERT_EQ(got.indices<I>()[i], want.indices<I>()[i]);
    }
    for (std::size_t i = 0; i < want.values<T>().size(); ++i) {
      const T a = got.values<T>()[i], b = want.values<T>()[i];
      if (a != a && b != b) continue;
      ASSERT_EQ(std::memcmp(&a, &b, sizeof(T)), 0) << a << " instead of " << b << " at " << i;
    }
  });
}

}  // namespace tandem::collectives::test
