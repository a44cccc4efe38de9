// SPDX-License-Identifier: Apache-2.0
//
// Selection by magnitude over indices; the values are copied once at the end.
#include "tensor/sparse/generate/captured.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

namespace tandem::sparse {

std::vector<float> read_captured_gradient(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) throw Error("workload", "cannot read the captured gradient " + path);
  if (bytes == 0 || bytes % sizeof(float) != 0) {
    throw Error("workload", path + " is not a sequence of f32 values");
  }
  std::vector<float> values(bytes / sizeof(float));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(bytes));
  if (!file) throw Error("workload", "cannot read the captured gradient " + path);
  return values;
}

SparseVector top_k(std::span<const float> values, std::size_t count) {
  if (values.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("workload", "a captured gradient has at most 2^32 values");
  }
  count = std::min(count, values.size());
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto magnitude = [&](std::uint32_t at) {
    const float value = std::fabs(values[at]);
    return std::isnan(value) ? std::numeric_limits<float>::infinity() : value;
  };
  const auto kth = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), kth, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const float first = magnitude(a), second = magnitude(b);
    return first != second ? first > second : a < b;
  });
  std::sort(order.begin(), kth);
  SparseVector vector({values.size(), 1}, DType::kF32);
  vector.resize(count);
  for (std::size_t at = 0; at < count; ++at) {
    vector.indices<std::uint32_t>()[at] = order[at];
    vector.values<float>()[at] = values[order[at]];
  }
  return vector;
}

}  // namespace tandem::sparse
