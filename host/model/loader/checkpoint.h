// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint: a model's configuration and tensors, in the same form for every file format.
//
// Keys and tensor names are GGUF's ("llama.block_count", "blk.0.attn_q.weight"); other formats
// translate theirs. They also change tensors as GGUF's converters do (Gemma's norms have 1 added),
// except for the order of rotated rows, see below. Ownership: views and tensors are valid as long
// as the Checkpoint. Threads: immutable. Errors: those of the format, naming its file and field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tensor/tensor_view.h"

namespace tandem::model {

struct CheckpointTensor {
  std::string_view name;
  DType dtype = DType::kF32;
  std::uint32_t num_dims = 0;
  std::uint64_t dims[4] = {1, 1, 1, 1};  // innermost first
  const std::byte* data = nullptr;
  std::uint64_t size_bytes = 0;  // of the data
  WeightScales scales;           // of a matrix in kF8E4M3
};

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  virtual bool has(std::string_view key) const = 0;
  virtual bool is_array(std::string_view key) const = 0;  // false if the key is absent

  // Empty if the key is absent; Error if it has another type. Accepts integers of any width that
  // fit; f32 keys accept f64.
  virtual std::optional<std::uint32_t> get_u32(std::string_view key) const = 0;
  virtual std::optional<float> get_f32(std::string_view key) const = 0;
  virtual std::optional<bool> get_bool(std::string_view key) const = 0;
  virtual std::optional<std::string_view> get_string(std::string_view key) const = 0;
  virtual std::optional<std::vector<float>> get_f32s(std::string_view key) const = 0;
  virtual std::optional<std::vector<std::int32_t>> get_i32s(std::string_view key) const = 0;
  // Booleans of layers: an array of booleans, or of integers (0: false).
  virtual std::optional<std::vector<bool>> get_bools(std::string_view key) const = 0;
  // One integer, or an array of integers that are all equal (per-layer values of uniform models).
  virtual std::optional<std::uint32_t> get_uniform_u32(std::string_view key) const = 0;

  // Null if there is no such tensor.
  virtual const CheckpointTensor* find_tensor(std::string_view name) const = 0;
  virtual void for_each_tensor(
      const std::function<void(const CheckpointTensor& tensor)>& visit) const = 0;

  // Whether the rows of q and k of the Llama family are ordered so that rotated pairs are
  // neighbours; otherwise a pair is (i, i + n/2).
  virtual bool rotates_neighbours() const = 0;

  // Makes an error about a key or a tensor in the format's terms, to throw.
  virtual Error field_error(std::string_view key, const std::string& what) const = 0;
  virtual Error tensor_error(const CheckpointTensor& tensor, const std::string& what) const = 0;
  virtual Error missing_tensor_error(std::string_view name) const = 0;

  // Reads the weights into the page cache; calls `progress` with fractions up to 1.
  virtual void read_ahead(const std::function<void(double)>& progress) const = 0;
  // Releases the memory of a part of the tensors' data if it is mapped from a file. It can be read
  // again, from the page cache or the disk.
  virtual void release(std::span<const std::byte> part) const = 0;

  // The same; Error if the key is absent.
  std::uint32_t require_u32(std::string_view key) const;
  std::string_view require_string(std::string_view key) const;

  // The tensor as a matrix [rows, columns]; Error when it has more than two dimensions.
  TensorView view(const CheckpointTensor& tensor) const;
  // A tensor [experts, rows, columns] as that many matrices; Error when it has another number of
  // dimensions.
  std::vector<TensorView> expert_views(const CheckpointTensor& tensor) const;
  // A layer's experts, with a `name` such as "blk.0.ffn_gate_exps.weight": that tensor, [count,
  // rows, columns], or one tensor for each expert, "blk.0.ffn_gate.7.weight". Empty if there is
  // neither; Error if their number is not `count`.
  std::vector<TensorView> experts(std::string_view name, std::uint32_t count) const;
};

}  // namespace tandem::model
