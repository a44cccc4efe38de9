// SPDX-License-Identifier: Apache-2.0
//
// Sums are written out entry by entry.
#include "tensor/sparse/generated/fibre_source.h"

namespace tandem::sparse {
namespace {

std::string decimal(std::size_t value) { return std::to_string(value); }

constexpr char kFibreBegin[] =
    "extern \"C\" void tandem_kernel(const Rows* job) {\n"
    "  const Size e = job->begins[job->first], rows = job->last - job->first;\n"
    "  const Index* __restrict at = job->indices + e;\n"
    "  const Stored* __restrict values = job->values + e;\n"
    "  const Value* __restrict const x = job->right;\n";

// Entry k of a fibre.
std::string entry_of(const KernelPattern& pattern, std::size_t k) {
  return "[row * " + decimal(pattern.fibre) + " + " + decimal(k) + "]";
}

}  // namespace

std::string ttv_source(const KernelPattern& pattern) {
  std::string text = kFibreBegin;
  text +=
      "  Value* __restrict const out = job->out + job->first;\n"
      "  for (Size row = 0; row < rows; ++row) {\n"
      "    out[row] = ";
  for (std::size_t k = 0; k < pattern.fibre; ++k) {
    const std::string entry = entry_of(pattern, k);
    text += (k == 0 ? "" : " + ") + ("widen(values" + entry + ") * x[at" + entry + "]");
  }
  return text + ";\n  }\n}\n";
}

std::string ttm_source(const KernelPattern& pattern, std::size_t lanes) {
  const std::string columns = decimal(pattern.columns);
  std::string text = kFibreBegin;
  text += "  Value* __restrict const out = job->out + job->first * " + columns +
          ";\n  for (Size row = 0; row < rows; ++row) {\n";
  for (std::size_t k = 0; k < pattern.fibre; ++k) {
    const std::string entry = entry_of(pattern, k), name = decimal(k);
    text += "    const Value w" + name + " = widen(values" + entry + ");\n";
    text += "    const Value* const x" + name + " = x + (Size)at" + entry + " * " + columns + ";\n";
  }
  for (std::size_t column = 0; column < pattern.columns; column += lanes) {
    text += "    store(";
    for (std::size_t k = 0; k < pattern.fibre; ++k) {
      text += (k == 0 ? "w" : " + w") + decimal(k) + " * load(x" + decimal(k) + " + " +
              decimal(column) + ")";
    }
    text += ", out + row * " + columns + " + " + decimal(column) + ");\n";
  }
  return text + "  }\n}\n";
}

}  // namespace tandem::sparse
