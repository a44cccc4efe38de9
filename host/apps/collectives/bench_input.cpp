// SPDX-License-Identifier: Apache-2.0
//
// Generates the workloads and converts them to the wanted type.
#include "apps/collectives/bench_input.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <cstring>

#include "common/error.h"
#include "tensor/sparse/generate/captured.h"
#include "tensor/sparse/generate/synthetic.h"
#include "tensor/sparse/generate/tokens.h"

namespace tandem::apps {
namespace {

using collectives::SparseTensor;
using sparse::SparseVector;

SparseVector synthetic(const BenchOptions& options, int rank, int world) {
  sparse::SyntheticOptions shape;
  shape.domain = {options.elements, 1};
  shape.density = options.density;
  shape.overlap = options.overlap;
  if (options.skew > 1) sparse::set_skew(shape, options.skew, world);
  return sparse::synthetic_gradient(shape, rank, world, options.seed);
}

SparseVector top_k(const BenchOptions& options, int rank) {
  const auto values =
      sparse::read_captured_gradient(fmt::format("{}/gradient-{}.f32", options.gradients, rank));
  const double count = options.density * static_cast<double>(values.size());
  return sparse::top_k(values, static_cast<std::size_t>(std::llround(count)));
}

SparseVector make_vector(const BenchOptions& options, int rank, int world) {
  if (options.pattern == "zipf") {
    const sparse::TokenCorpus corpus(options.corpus);
    return corpus.embedding_gradient(static_cast<std::uint32_t>(options.width),
                                     static_cast<std::size_t>(options.tokens), rank, world, 0);
  }
  return options.pattern == "top-k" ? top_k(options, rank) : synthetic(options, rank, world);
}

template <typename T, typename Convert>
void convert_values(std::span<const float> from, SparseTensor& to, Convert convert) {
  to.values.resize(from.size() * sizeof(T));
  for (std::size_t at = 0; at < from.size(); ++at) {
    const T value = convert(from[at]);
    std::memcpy(to.values.data() + at * sizeof(T), &value, sizeof(T));
  }
}

void set_values(std::span<const float> from, const std::string& type, SparseTensor& to) {
  if (type == "f16") {
    to.type = DType::kF16;
    convert_values<std::uint16_t>(from, to, f32_to_f16);
  } else if (type == "bf16") {
    to.type = DType::kBF16;
    convert_values<std::uint16_t>(from, to, f32_to_bf16);
  } else if (type == "f64") {
    to.type = DType::kF64;
    convert_values<double>(from, to, [](float value) { return static_cast<double>(value); });
  } else if (type == "u64") {
    to.type = DType::kU64;
    convert_values<std::uint64_t>(from, to, [](float value) {
      return static_cast<std::uint64_t>(std::llround(std::abs(value) * 256.0f)) + 1;
    });
  } else {
    to.type = DType::kF32;
    convert_values<float>(from, to, [](float value) { return value; });
  }
}

}  // namespace

SparseTensor make_input(const BenchOptions& options, int rank, int world) {
  const SparseVector vector = make_vector(options, rank, world);
  SparseTensor tensor;
  tensor.num_units = vector.domain().num_units;
  tensor.width = vector.domain().width;
  tensor.num_entries = vector.num_entries();
  const auto indices = std::as_bytes(vector.indices<std::uint32_t>());
  tensor.indices.assign(indices.begin(), indices.end());
  set_values(vector.values<float>(), options.type, tensor);
  return tensor;
}

}  // namespace tandem::apps
