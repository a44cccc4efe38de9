// SPDX-License-Identifier: Apache-2.0
//
// The words of the grammar and its bounds.
#include "tensor/sparse/generated/kernel_pattern.h"

#include "tensor/sparse/kernels/fibre_tensor.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kMostColumns = 256;
constexpr std::size_t kMostPatternOrder = 6;
constexpr std::size_t kMostBlockSide = 8;

const char* word(KernelProduct product) {
  switch (product) {
    case KernelProduct::kMttkrp:
      return "mttkrp";
    case KernelProduct::kSpmm:
      return "spmm";
    case KernelProduct::kSddmm:
      return "sddmm";
    case KernelProduct::kSpmv:
      return "spmv";
    case KernelProduct::kAttention:
      return "attention";
    case KernelProduct::kTtv:
      return "ttv";
    case KernelProduct::kTtm:
      return "ttm";
  }
  return "";
}

const char* word(KernelValue value) {
  return value == KernelValue::kF32 ? "f32" : value == KernelValue::kF64 ? "f64" : "bf16";
}

const char* word(KernelIndex index) {
  return index == KernelIndex::kU16 ? "u16" : index == KernelIndex::kI32 ? "i32" : "i64";
}

const char* word(KernelEnd end) {
  switch (end) {
    case KernelEnd::kNone:
      return "";
    case KernelEnd::kBias:
      return ".bias";
    case KernelEnd::kBiasRelu:
      return ".bias.relu";
    case KernelEnd::kBiasSilu:
      return ".bias.silu";
  }
  return "";
}

bool is_side(std::size_t side) {
  return side >= 1 && side <= kMostBlockSide && (side & (side - 1)) == 0;
}

// Fibres of every number of entries.
void add_fibres(KernelPattern pattern, std::vector<KernelPattern>& to) {
  for (pattern.fibre = 0; pattern.fibre <= kMostEqualFibres; ++pattern.fibre) to.push_back(pattern);
}

void add_mttkrp(std::size_t columns, KernelValue value, std::vector<KernelPattern>& to) {
  if (value == KernelValue::kBf16) return;
  for (std::size_t order = 2; order <= kMostPatternOrder; ++order) {
    for (std::size_t mode = 0; mode < order; ++mode) {
      to.push_back({KernelProduct::kMttkrp, order, mode, columns, 1, 1, value, KernelIndex::kU16,
                    KernelEnd::kNone});
    }
  }
}

void add_rows(std::size_t columns, KernelValue value, std::vector<KernelPattern>& to) {
  for (const KernelIndex index : {KernelIndex::kI32, KernelIndex::kI64}) {
    KernelPattern pattern{KernelProduct::kSddmm, 2, 0, columns, 1, 1, value, index,
                          KernelEnd::kNone};
    to.push_back(pattern);
    pattern.product = KernelProduct::kAttention;
    to.push_back(pattern);
    pattern.product = KernelProduct::kTtm;
    add_fibres(pattern, to);
    pattern.product = KernelProduct::kSpmm;
    for (const std::size_t side : {1, 2, 4, 8}) {
      pattern.block_rows = pattern.block_columns = side;
      for (const KernelEnd end :
           {KernelEnd::kNone, KernelEnd::kBias, KernelEnd::kBiasRelu, KernelEnd::kBiasSilu}) {
        pattern.end = end;
        to.push_back(pattern);
      }
    }
  }
}

}  // namespace

std::string key(const KernelPattern& pattern) {
  std::string text = word(pattern.product);
  if (pattern.product == KernelProduct::kMttkrp) {
    text += ".o" + std::to_string(pattern.order) + ".m" + std::to_string(pattern.mode);
  }
  if (pattern.fibre > 0) text += ".n" + std::to_string(pattern.fibre);
  text += ".c" + std::to_string(pattern.columns);
  if (pattern.block_rows > 1 || pattern.block_columns > 1) {
    text += ".b" + std::to_string(pattern.block_rows) + "x" + std::to_string(pattern.block_columns);
  }
  return text + "." + word(pattern.value) + "." + word(pattern.index) + word(pattern.end);
}

bool is_in_grammar(const KernelPattern& pattern) {
  const bool is_mttkrp = pattern.product == KernelProduct::kMttkrp;
  const bool is_spmm = pattern.product == KernelProduct::kSpmm;
  const bool has_fibres =
      pattern.product == KernelProduct::kTtv || pattern.product == KernelProduct::kTtm;
  const bool is_vector =
      pattern.product == KernelProduct::kSpmv || pattern.product == KernelProduct::kTtv;
  const bool has_columns = is_vector ? pattern.columns == 1
                                     : pattern.columns >= kFactorStep &&
                                           pattern.columns <= kMostColumns &&
                                           pattern.columns % kFactorStep == 0;
  const bool has_modes = is_mttkrp ? pattern.order >= 2 && pattern.order <= kMostPatternOrder &&
                                         pattern.mode < pattern.order
                                   : pattern.order == 2 && pattern.mode == 0;
  const bool has_blocks = is_spmm ? is_side(pattern.block_rows) && is_side(pattern.block_columns)
                                  : pattern.block_rows == 1 && pattern.block_columns == 1;
  const bool has_index = (pattern.index == KernelIndex::kU16) == is_mttkrp;
  const bool has_value = !is_mttkrp || pattern.value != KernelValue::kBf16;
  return has_columns && has_modes && has_blocks && has_index && has_value &&
         pattern.fibre <= (has_fibres ? kMostEqualFibres : 0) &&
         (is_spmm || pattern.end == KernelEnd::kNone);
}

std::vector<KernelPattern> grammar_points(std::size_t most_columns) {
  std::vector<KernelPattern> points;
  for (const KernelValue value : {KernelValue::kF32, KernelValue::kF64, KernelValue::kBf16}) {
    for (const KernelIndex index : {KernelIndex::kI32, KernelIndex::kI64}) {
      points.push_back({KernelProduct::kSpmv, 2, 0, 1, 1, 1, value, index, KernelEnd::kNone});
      add_fibres({KernelProduct::kTtv, 2, 0, 1, 1, 1, value, index, KernelEnd::kNone}, points);
    }
    for (std::size_t columns = kFactorStep; columns <= most_columns; columns *= 2) {
      add_mttkrp(columns, value, points);
      add_rows(columns, value, points);
    }
  }
  return points;
}

}  // namespace tandem::sparse
