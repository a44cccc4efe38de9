// SPDX-License-Identifier: Apache-2.0
//
// Experts: ExpertsOp as launches: choice, grouping, products per expert, and a sum.
//
// Grouped (grouped_experts.cpp), for decode steps and up to some hundred rows: the choice stays on
// the device and becomes tiles of rows. There are as many blocks as there can be tiles; the surplus
// returns at once. Nothing waits, and the eight launches are the same for every choice, so they
// become a graph. Otherwise (more rows per expert, or weights of several types) the host reads the
// groups back, one wait per call, and runs each expert's products (products/products.h). Only
// chosen experts' weights are read. Memory: rows * used * (2 ffn + width) floats and the choices,
// kept between calls. Threads: the submitting thread. Errors: Error for shapes that do not fit and
// for memory; DeviceError.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/gpu/gpu.h"
#include "cuda/products/linear.h"
#include "device/compute_unit.h"
#include "gemm/grouped_product.h"

namespace tandem::cuda {

class Experts {
 public:
  Experts(Gpu& gpu, Linear& linear) : gpu_(gpu), queue_(gpu.queue), linear_(linear) {}

  // Returns the bytes of weights read; with grouping this is an upper bound.
  std::uint64_t run(const device::ExpertsOp& op);

 private:
  struct Shape {
    std::size_t rows, experts, used, width, ffn;
    std::size_t slots() const { return rows * used; }
    int tile_rows = 0;  // 0: not grouped
    std::size_t most_tiles = 0;
  };
  // The arrays of the current call in device memory.
  struct Places {
    std::int32_t *chosen, *begins, *slot_rows, *slots, *num_tiles;
    float *shares, *gate, *up, *results;
    gpu_kernels::RowTile* tiles;
  };
  // Selects one of the three weights of an expert.
  using Member = const device::Weight* device::Expert::*;
  struct GroupedRun;

  Shape check(const device::ExpertsOp& op) const;
  void plan_groups(const device::ExpertsOp& op, Shape& shape) const;
  Places reserve(const Shape& shape);
  void choose(const device::ExpertsOp& op, const Shape& shape, const Places& at);
  void read_begins(const Shape& shape, const Places& at);
  std::uint64_t feed_forward(const device::ExpertsOp& op, const Shape& shape, const Places& at,
                             std::size_t expert);
  std::uint64_t run_by_expert(const device::ExpertsOp& op, const Shape& shape, const Places& at);
  void begin_grouped(const device::ExpertsOp& op, const Shape& shape);
  std::uint64_t run_grouped(const device::ExpertsOp& op, const Shape& shape, const Places& at);
  void sum(const device::ExpertsOp& op, const Shape& shape, const Places& at, float* out);

  Gpu& gpu_;
  Queue& queue_;
  Linear& linear_;
  PoolRange memory_, host_begins_;
  // [experts + 1]: first slot of every expert, then the number of slots
  std::vector<std::int32_t> begins_;
};

}  // namespace tandem::cuda
