// SPDX-License-Identifier: Apache-2.0
//
// Products: any number of matrix products in one pass of a team.
//
// A product multiplies all rows of one input with one weight. Projections that share an input are
// products of one input. Each expert of a mixture has its own input, with the rows that chose it
// (`picks`); all keep the threads busy together. Threads divide panels of outputs and, if there are
// many, rows. A NUMA node multiplies the weights in its memory before its threads help others.
// Little work runs on the caller alone. Memory: the prepared rows and a workspace per worker, kept
// between calls. Threads: one caller. Numerics: the bits of a row's result do not depend on other
// rows, with two exceptions. For f32, f16 and sparse weights the order of additions may depend on
// the number of rows; for sparse bf16 weights also whether the row is rounded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/row_preparation.h"
#include "cpu/team.h"
#include "cpu/weight.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kFewRows = 24;

struct Product {
  std::size_t input = 0;              // index in the call's inputs
  const CpuWeight* weight = nullptr;  // [out_features, width of the input]
  const float* bias = nullptr;        // [out_features] or null
  float* out = nullptr;     // [rows of the input, out_features]; not shared with another product
  bool accumulate = false;  // out += instead of out =
};

class Products {
 public:
  explicit Products(Team& team) : team_(team), workspaces_(team.size()) {}

  // Inputs are rows of f32, each prepared once (cpu/row_preparation.h). Packed weights use
  // kernels/quantized_products or bf16_products.h; f32 and f16 use matvec.h up to kFewRows rows,
  // else matmul.h; weights without their zeros use kernels/sparse_products. Shapes must fit:
  // callers check. Returns the bytes of weights read.
  std::uint64_t run(std::span<const RowSource> inputs, std::span<const Product> products);

 private:
  struct Part {  // a part of a product: some outputs and rows
    std::size_t product = 0;
    std::size_t begin = 0, end = 0;  // range of panels if the weight is packed, else of outputs
    std::size_t first_row = 0, last_row = 0;
  };

  void prepare(std::span<const RowSource> inputs, std::span<const Product> products);
  void split(std::span<const Product> products);
  void split(std::size_t index, const Product& product, std::size_t node, std::size_t even);
  void multiply(const Product& product, const Part& part, std::vector<float>& workspace) const;
  void multiply_sparse(const Product& product, const Part& part,
                       std::vector<float>& workspace) const;
  void multiply_quantized_panels(const Product& product, const Part& part,
                                 std::vector<float>& workspace) const;
  void multiply_many(const Product& product, const Part& part, std::vector<float>& workspace) const;
  void multiply_bf16_panels(const Product& product, const Part& part,
                            std::vector<float>& workspace) const;
  void multiply_few(const Product& product, const Part& part) const;

  Team& team_;
  std::vector<RowForms> forms_;
  std::vector<PreparedRows> inputs_;
  std::vector<Part> parts_;          // sorted by NUMA node
  std::vector<std::size_t> bounds_;  // [num_nodes + 1]: the index of each node's first part
  std::vector<std::vector<float>> workspaces_;
};

}  // namespace tandem::device::cpu
