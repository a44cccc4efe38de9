// SPDX-License-Identifier: Apache-2.0
//
// Experts: ExpertsOp as two passes of grouped products (cpu/products.h).
//
// Rows are grouped by expert. One pass multiplies the gate and up weights of every chosen expert
// with its rows; one multiplies its down weight with the gated results. Then every row adds the
// results of its experts, the most probable first, so that the sum does not depend on other rows.
// Memory: used * rows * (2 ffn + width) floats, kept between calls. Threads: one caller. Errors:
// Error on shapes that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/products.h"

namespace tandem::device::cpu {

class Experts {
 public:
  Experts(Team& team, Products& products) : team_(team), products_(products) {}

  // Returns the bytes of weights read.
  std::uint64_t run(const ExpertsOp& op);

 private:
  struct Choice {
    std::int32_t expert = 0;
    float share = 0;       // weight of the expert's result in the sum
    std::size_t slot = 0;  // row of the grouped results
  };
  struct Group {  // an expert that some row chose
    std::int32_t expert = 0;
    std::size_t first_slot = 0;
    std::vector<std::int32_t> rows;
  };

  void choose(const ExpertsOp& op, const float* router);
  void group(const ExpertsOp& op);
  std::uint64_t widen(const ExpertsOp& op, const float* x, std::size_t width, std::size_t ffn);
  std::uint64_t narrow(const ExpertsOp& op, std::size_t width, std::size_t ffn);

  Team& team_;
  Products& products_;
  std::vector<Choice> choices_;  // [rows, used]
  std::vector<Group> groups_;
  std::vector<std::int32_t> group_of_;  // [experts], -1: no row chose it
  std::vector<float> gate_, up_, down_;
  std::vector<RowSource> inputs_;
  std::vector<Product> tasks_;
};

}  // namespace tandem::device::cpu
