// SPDX-License-Identifier: Apache-2.0
//
// CudaWeight: a weight in a GPU's memory, and how it is loaded.
//
// For products, quantised matrices are packed (products.h); floats keep the file's layout, e4m3
// with their scales. A table (of embeddings) keeps the file's rows. A quantised matrix that
// serves as table and in products is stored twice. A vector (out_features = 1: norms, biases) is
// also kept as f32. load() reads the source through two pieces of pinned memory: one is filled
// while the other is copied and packed. Threads: the submitting thread; a weight does not change.
// Ownership: weights are destroyed before their unit. Errors: Error for a source that is empty, of
// a wrong shape or of an unsupported type, and for full memory.
#pragma once

#include <array>
#include <cstddef>

#include "cuda/gpu/gpu.h"
#include "cuda/products/products.h"
#include "device/compute_unit.h"

namespace tandem::cuda {

// Host memory to device memory, in the queue's order.
class Upload {
 public:
  explicit Upload(Gpu& gpu) : gpu_(gpu) {}

  void copy(const std::byte* from, std::size_t bytes, std::byte* to);
  // Packs the file's rows at `from` into a matrix at `to`.
  void pack(const Matrix& matrix, const std::byte* from, std::byte* to);

 private:
  struct Piece {
    PoolRange host;
    std::uint64_t last_position = 0;
  };
  // Returns a piece of pinned memory that no copy reads any more.
  Piece& next_piece();

  Gpu& gpu_;
  std::array<Piece, 2> pieces_;
  std::size_t next_ = 0;
  PoolRange device_piece_;
};

class CudaWeight final : public device::Weight {
 public:
  CudaWeight(Gpu& gpu, Upload& upload, const device::WeightSource& source);
  ~CudaWeight() override { gpu_.queue.forget_graphs(); }

  std::int64_t out_features() const override { return matrix_.out_features; }
  std::int64_t in_features() const override { return matrix_.in_features; }
  std::size_t size_bytes() const override { return row_bytes_ * matrix_.out_features; }
  bool borrows_source() const override { return false; }

  const Gpu& gpu() const { return gpu_; }
  gpu_kernels::StoredType stored_type() const { return matrix_.type; }
  std::size_t row_bytes() const { return row_bytes_; }
  const std::byte* rows() const {
    return rows_;
  }                               // rows in the file's layout; null: not stored in this layout
  const Matrix* matrix() const {  // null for a quantised table and for a vector
    return matrix_.data != nullptr ? &matrix_ : nullptr;
  }
  const float* vector() const { return vector_.as<float>(); }  // null for a matrix

 private:
  void load_matrix(Upload& upload, const device::WeightSource& source);
  void load_scales(Upload& upload, const device::WeightSource& source);
  void load_vector(Upload& upload, const device::WeightSource& source);

  Gpu& gpu_;
  Matrix matrix_;
  std::size_t row_bytes_ = 0;
  const std::byte* rows_ = nullptr;
  PoolRange file_rows_, packed_, scales_, vector_;
};

// Checks the weight of a descriptor: loaded by a unit of this GPU, of this shape (0: any). Throws
// Error naming `what`.
const CudaWeight& cuda_weight(const Gpu& gpu, const device::Weight* weight,
                              std::int64_t out_features, std::int64_t in_features,
                              const char* what);

}  // namespace tandem::cuda
