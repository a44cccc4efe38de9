// SPDX-License-Identifier: Apache-2.0
//
// A random matrix by rows of blocks, or by fibres of one length, with the naive results of its
// products in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tensor/sparse/generated/kernel_pattern.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::sparse::test {

// A random matrix in blocks, and what its products need.
template <typename Value, typename Column, typename Stored>
struct BlockRows {
  BlockRows(const KernelPattern& p, std::uint64_t block_rows, std::uint64_t block_inputs)
      : rows(block_rows), pattern(p) {
    std::mt19937_64 engine(5);
    const auto draw = [&] {
      return static_cast<Value>(static_cast<double>(engine() % 401) / 100 - 2);
    };
    for (std::uint64_t row = 0; row < block_rows; ++row) {
      std::set<std::uint64_t> drawn;
      const std::uint64_t drawn_count =
          row % 5 == 3 ? 0 : engine() % std::min<std::uint64_t>(block_inputs, 11);
      const std::uint64_t count = p.fibre > 0 ? p.fibre : drawn_count;
      while (drawn.size() < count) drawn.insert(engine() % block_inputs);
      indices.insert(indices.end(), drawn.begin(), drawn.end());
      begins.push_back(indices.size());
    }
    values.resize(indices.size() * p.block_rows * p.block_columns);
    left.resize(block_rows * p.columns);
    right.resize(block_inputs * p.block_columns * p.columns);
    bias.resize(block_rows * p.block_rows);
    for (Stored& value : values) value = stored_as<Stored>(static_cast<double>(draw()));
    for (auto* each : {&left, &right, &bias}) {
      for (Value& value : *each) value = draw();
    }
    out.resize(
        p.product == KernelProduct::kSddmm ? indices.size() : block_rows * p.block_rows * p.columns,
        Value{7});
  }

  RowsCall call(std::uint64_t first, std::uint64_t last) {
    return {.begins = begins.data(),
            .indices = indices.data(),
            .values = values.data(),
            .first = first,
            .last = last,
            .left = left.data(),
            .right = right.data(),
            .bias = bias.data(),
            .out = out.data()};
  }

  // The naive result of spmm or spmv.
  std::vector<double> product() const {
    std::vector<double> sums(out.size());
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t e = begins[row]; e < begins[row + 1]; ++e) {
        for (std::size_t r = 0; r < pattern.block_rows; ++r) {
          for (std::size_t c = 0; c < pattern.block_columns; ++c) {
            const auto w = static_cast<double>(
                widened(values[(e * pattern.block_rows + r) * pattern.block_columns + c]));
            const std::uint64_t input =
                static_cast<std::uint64_t>(indices[e]) * pattern.block_columns + c;
            for (std::size_t i = 0; i < pattern.columns; ++i) {
              sums[(row * pattern.block_rows + r) * pattern.columns + i] +=
                  w * static_cast<double>(right[input * pattern.columns + i]);
            }
          }
        }
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = ended(sums[i], i / pattern.columns);
    return sums;
  }
  double ended(double sum, std::size_t row) const {
    if (pattern.end != KernelEnd::kNone) sum += static_cast<double>(bias[row]);
    if (pattern.end == KernelEnd::kBiasRelu) return std::max(sum, 0.0);
    return pattern.end == KernelEnd::kBiasSilu ? sum / (1 + std::exp(-sum)) : sum;
  }

  std::vector<double> dots() const {
    std::vector<double> sums(indices.size());
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t e = begins[row]; e < begins[row + 1]; ++e) {
        for (std::size_t i = 0; i < pattern.columns; ++i) {
          sums[e] += static_cast<double>(left[row * pattern.columns + i]) *
                     static_cast<double>(
                         right[static_cast<std::uint64_t>(indices[e]) * pattern.columns + i]);
        }
        sums[e] *= static_cast<double>(widened(values[e]));
      }
    }
    return sums;
  }

  std::uint64_t rows;
  KernelPattern pattern;
  std::vector<std::uint64_t> begins{0};
  std::vector<Column> indices;
  std::vector<Stored> values;
  std::vector<Value> left, right, bias, out;
};

}  // namespace tandem::sparse::test
