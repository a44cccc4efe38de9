// SPDX-License-Identifier: Apache-2.0
//
// The table of shapes, and how one becomes options of the synthetic generator.
#include "tensor/sparse/generate/model_shapes.h"

#include <algorithm>
#include <array>
#include <string>

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

// Row widths: LSTM 793,470 words x 512 (One Billion Word); DeepFM 16 a feature; NMT 1,000 a word.
constexpr std::array kShapes = {
    ModelShape{"lstm", "LSTM language model: 20M dense + 406M embedding, 1.13 %", 20 * kMillion,
               406'256'640, 512, 0.0113, 1.8},
    ModelShape{"deepfm", "DeepFM: 68M dense + 214M embedding, 2.80 %", 68 * kMillion,
               214 * kMillion, 16, 0.0280, 1.4},
    ModelShape{"nmt", "NMT: 31M dense + 112M embedding, 2.47 %", 31 * kMillion, 112 * kMillion,
               1000, 0.0247, 1.4},
    ModelShape{"llm-3b", "3B-parameter language model, 5 % top-k", 0, 3000 * kMillion, 1, 0.05, 0},
};

}  // namespace

std::span<const ModelShape> model_shapes() { return kShapes; }

const ModelShape& model_shape(std::string_view name) {
  std::string known;
  for (const ModelShape& shape : kShapes) {
    if (shape.name == name) return shape;
    known += (known.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error("workload", "no model is called '" + std::string(name) + "'; there are: " + known);
}

SyntheticOptions synthetic_options(const ModelShape& shape, std::uint64_t scale, bool as_rows) {
  const std::uint64_t rows =
      std::max<std::uint64_t>(1, shape.sparse_values / shape.row_values / scale);
  SyntheticOptions options;
  options.density = shape.density;
  options.zipf_exponent = shape.zipf_exponent;
  if (as_rows) {
    options.domain = {rows, shape.row_values};
  } else {
    options.domain = {rows * shape.row_values, 1};
    options.run_units = shape.row_values;
  }
  return options;
}

}  // namespace tandem::sparse
