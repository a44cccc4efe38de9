// SPDX-License-Identifier: Apache-2.0
//
// The source is few lines: bodies are templates.
#include "tensor/sparse/generated/cuda_source.h"

#include "common/error.h"
#include "tensor/sparse/kernels/fibre_tensor.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kWarp = 32;
constexpr std::size_t kMostCudaColumns = 256;
constexpr std::size_t kMostCudaOrder = 6;  // kMostFactors of row_jobs.h and one

bool is_dot(KernelProduct product) {
  return product == KernelProduct::kSddmm || product == KernelProduct::kAttention;
}

const char* end_word(KernelEnd end) {
  switch (end) {
    case KernelEnd::kBias:
      return "kBias";
    case KernelEnd::kBiasRelu:
      return "kBiasRelu";
    case KernelEnd::kBiasSilu:
      return "kBiasSilu";
    default:
      return "kNone";
  }
}

std::string call_of(const KernelPattern& pattern) {
  const std::string columns = std::to_string(pattern.columns);
  switch (pattern.product) {
    case KernelProduct::kSpmv:
      return "dot_row<float>(job);";
    case KernelProduct::kTtv:
      if (pattern.fibre == 0) return "dot_row<float>(job);";
      return "dot_fibre<" + std::to_string(pattern.fibre) + ", float>(job);";
    case KernelProduct::kSddmm:
      return "dot_entries<" + columns + ">(job);";
    case KernelProduct::kAttention:
      return "attend_row<" + columns + ">(job);";
    default:
      return "sum_row<" + std::to_string(pattern.order - 1) + ", " + columns + ", float>(job);";
  }
}

}  // namespace

bool is_in_cuda_grammar(const KernelPattern& pattern) {
  const bool is_mttkrp = pattern.product == KernelProduct::kMttkrp;
  const bool is_whole = pattern.columns % kWarp == 0 && pattern.columns > 0;
  const bool is_vector =
      pattern.product == KernelProduct::kSpmv || pattern.product == KernelProduct::kTtv;
  const bool has_fibres =
      pattern.product == KernelProduct::kTtv || pattern.product == KernelProduct::kTtm;
  const bool has_columns = is_vector                 ? pattern.columns == 1
                           : is_dot(pattern.product) ? is_whole
                                                     : is_whole || pattern.columns == kWarp / 2;
  const bool has_modes = is_mttkrp ? pattern.order >= 2 && pattern.order <= kMostCudaOrder &&
                                         pattern.mode < pattern.order
                                   : pattern.order == 2 && pattern.mode == 0;
  const bool has_end = pattern.end == KernelEnd::kNone || pattern.product == KernelProduct::kSpmm;
  return has_columns && pattern.columns <= kMostCudaColumns && has_modes && has_end &&
         pattern.fibre <= (has_fibres ? kMostEqualFibres : 0) && pattern.block_rows == 1 &&
         pattern.block_columns == 1 && pattern.value == KernelValue::kF32 &&
         pattern.index == (is_mttkrp ? KernelIndex::kU16 : KernelIndex::kI32);
}

std::vector<KernelPattern> cuda_grammar_points(std::size_t most_columns) {
  std::vector<KernelPattern> points = grammar_points(most_columns);
  std::erase_if(points, [](const KernelPattern& point) { return !is_in_cuda_grammar(point); });
  for (std::size_t columns = kWarp; columns <= most_columns; columns *= 2) {
    points.push_back({KernelProduct::kAttention, 2, 0, columns, 1, 1, KernelValue::kF32,
                      KernelIndex::kI32, KernelEnd::kNone});
  }
  return points;
}

std::string cuda_source(const KernelPattern& pattern) {
  TANDEM_CHECK(is_in_cuda_grammar(pattern));
  const bool takes_dots = is_dot(pattern.product);
  std::string text = "// " + key(pattern) +
                     "\n"
                     "namespace tandem::gpu_kernels {\n"
                     "__device__ inline float widen(float value) { return value; }\n"
                     "}\n"
                     "#include \"sparse/row_products.cuh\"\n"
                     "using namespace tandem::gpu_kernels;\n"
                     "extern \"C\" __global__ void __launch_bounds__(kRowWarps * kWarpLanes) "
                     "tandem_kernel(";
  text += takes_dots ? "EntryDots job) {\n" : "RowSums job) {\n";
  if (!takes_dots) {
    text += "  job.parts = 1;\n  job.end = RowEnd::" + std::string(end_word(pattern.end)) + ";\n";
  }
  return text + "  " + call_of(pattern) + "\n}\n";
}

}  // namespace tandem::sparse
