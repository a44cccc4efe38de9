// SPDX-License-Identifier: Apache-2.0
//
// Experts: ExpertsOp as choice, grouping, products by expert, and a sum, in the queue.
//
// Two ways. Grouped (grouped_experts.cpp), for decode steps and up to some hundred rows: which
// experts were chosen stays on the device, where it becomes tiles of rows; products have as many
// blocks as there can be tiles, and those behind the last return at once. Nothing is waited for,
// the launches are the same whatever was chosen and become a graph: eight per call. With more rows
// per expert, or weights of several types: the host reads the groups' begins back, and each
// expert's products are what its rows ask for (products.h), in a chunk of a prompt cuBLASLt: one
// wait per call, small beside products of some hundred rows per expert, which tiles of at most 16
// rows would read every weight several times for.
// Rows of an expert are picked on their way into its gate and up; only chosen experts' weights are
// read. Memory: rows * used * (2 ffn + width) floats and the choices, kept between calls. Threads:
// the submitting thread. Errors: Error on shapes that do not fit and for memory, DeviceError.
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

  // Returns the bytes of weights read; grouped: at most.
  std::uint64_t run(const device::ExpertsOp& op);

 private:
  struct Shape {
    std::size_t rows, experts, used, width, ffn;
    std::size_t slots() const { return rows * used; }
    int tile_rows = 0;  // 0: not grouped
    std::size_t most_tiles = 0;
  };
  // In device memory, of the call.
  struct Places {
    std::int32_t *chosen, *begins, *slot_rows, *slots, *num_tiles;
    float *shares, *gate, *up, *results;
    gpu_kernels::RowTile* tiles;
  };
  // A weight of every expert.
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
  std::vector<std::int32_t> begins_;  // [experts + 1]
};

}  // namespace tandem::cuda
