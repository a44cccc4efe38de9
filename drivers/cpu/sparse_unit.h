// SPDX-License-Identifier: Apache-2.0
//
// CpuSparseUnit: a sparse matrix in host memory, multiplied by threads of its own.
//
// load() copies the rows. start() keeps the vector; finish() computes in the caller's thread and
// the unit's others, so a caller starts other devices first. rates() measures products with the
// whole matrix. Order of the sums: that of spmv() (host/tensor/sparse/kernels/row_matrix.h).
// Threads: one. Errors: Error for more than 2^31 columns.
#pragma once

#include "common/thread_pool.h"
#include "device/sparse_unit.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::device::cpu {

class CpuSparseUnit final : public SparseUnit {
 public:
  explicit CpuSparseUnit(const ThreadPoolOptions& options) : pool_(options) {}

  std::string name() const override { return "cpu"; }
  bool works_on_host() const override { return true; }
  SparseRates rates(const SparseRows& matrix, Deadline deadline) override;
  void load(const SparseRows& rows, Deadline deadline) override;
  void start(std::span<const float> x, Deadline deadline) override;
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override;
  void on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y) const override;

 private:
  ThreadPool pool_;
  sparse::RowMatrix<float> matrix_;
  std::span<const float> x_;
};

}  // namespace tandem::device::cpu
