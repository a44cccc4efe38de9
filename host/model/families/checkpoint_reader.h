// SPDX-License-Identifier: Apache-2.0
//
// CheckpointReader: reads and checks the numbers and tensors of a file's architecture.
//
// Callers give keys without the architecture ("attention.head_count"), the range of a number and
// the shape of a tensor. The reader remembers the tensors that were read, so that
// refuse_unknown_tensors() can name one that the family does not use. Ownership: borrows the
// checkpoint; views are of its memory. Errors: those of the checkpoint, naming key or tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/loader/checkpoint.h"

namespace tandem::model {

inline constexpr std::uint32_t kMaxLayers = 4096;
inline constexpr std::uint32_t kMaxWidth = 1u << 20;
inline constexpr std::uint32_t kMaxContext = 1u << 30;

class CheckpointReader {
 public:
  explicit CheckpointReader(const Checkpoint& file)
      : file_(file), architecture_(file.require_string("general.architecture")) {}

  const Checkpoint& file() const { return file_; }
  const std::string& architecture() const { return architecture_; }
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  bool has(std::string_view name) const { return file_.has(key(name)); }
  // Makes an error about the key, to throw.
  Error error(std::string_view name, const std::string& what) const {
    return file_.field_error(key(name), what);
  }

  // A number in 1..limit.
  int positive(std::string_view name, std::uint32_t limit = kMaxWidth) const;
  int positive_or(std::string_view name, int fallback, std::uint32_t limit = kMaxWidth) const;
  // Greater than 0.
  float positive_float(std::string_view name, float fallback) const;
  // A soft cap >= 0; 0 means none.
  float soft_cap(std::string_view name, float fallback) const;

  // [rows, columns]
  TensorView matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  // A norm or bias, [1, columns]: never quantised.
  TensorView vector(const std::string& name, std::int64_t columns);
  // The same; empty if the file has no such tensor.
  TensorView optional_matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  TensorView optional_vector(const std::string& name, std::int64_t columns);
  // The rows of one tensor that holds several matrices, one above the other. `rows`: of each
  // matrix.
  std::vector<TensorView> row_slices(const std::string& name, std::vector<std::int64_t> rows,
                                     std::int64_t columns);
  // `count` matrices [rows, columns], stacked or one by one (Checkpoint::experts).
  std::vector<TensorView> experts(const std::string& name, int count, std::int64_t rows,
                                  std::int64_t columns);
  // A vector's values, all greater than 0; empty if there is no such tensor.
  std::vector<float> optional_divisors(const std::string& name, std::int64_t columns);

  // Without this check a tensor that the family does not read would be ignored silently.
  void refuse_unknown_tensors() const;

 private:
  void check_shape(const TensorView& view, std::int64_t rows, std::int64_t columns) const;

  const Checkpoint& file_;
  const std::string architecture_;
  std::unordered_set<std::string> taken_;
};

}  // namespace tandem::model
