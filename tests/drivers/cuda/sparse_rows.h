// SPDX-License-Identifier: Apache-2.0
//
// A random sparse matrix for the tests of sparse units: rows of many entries, of one and of none.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "device/sparse_unit.h"

namespace tandem::device_test {

struct RandomRows {
  RandomRows(std::uint64_t rows, std::uint64_t num_columns, std::size_t most)
      : columns(num_columns), x(num_columns) {
    std::mt19937 random(4);
    const auto draw = [&] { return std::normal_distribution<float>()(random); };
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::set<std::int32_t> places;
      for (std::size_t i = random() % (most + 1); i > 0; --i) {
        places.insert(static_cast<std::int32_t>(random() % num_columns));
      }
      indices.insert(indices.end(), places.begin(), places.end());
      begins.push_back(indices.size());
    }
    for (std::size_t i = 0; i < indices.size(); ++i) values.push_back(draw());
    for (float& value : x) value = draw();
  }
  device::SparseRows rows() const { return {columns, begins, indices.data(), values.data()}; }

  // y: of rows [first, first + y.size()).
  void expect_product(std::span<const float> y, std::uint64_t first = 0) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      double sum = 0, size = 0;
      for (std::uint64_t e = begins[first + i]; e < begins[first + i + 1]; ++e) {
        const double term = static_cast<double>(values[e]) *
                            static_cast<double>(x[static_cast<std::size_t>(indices[e])]);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(y[i]), sum, size * 16 * 0x1p-24) << first + i;
    }
  }

  std::uint64_t columns;
  std::vector<std::uint64_t> begins = {0};
  std::vector<std::int32_t> indices;
  std::vector<float> values, x;
};

}  // namespace tandem::device_test
