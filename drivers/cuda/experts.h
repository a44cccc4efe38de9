// SPDX-License-Identifier: Apache-2.0
//
// Experts: ExpertsOp as choice, grouping, products by expert, and a sum, in the queue.
//
// Which experts were chosen, and by how many rows, shapes the products, so the host reads the
// groups' begins back: enqueueing waits for the GPU once per call, and such a step is launched one
// by one, not as a graph. Rows of an expert are picked on their way into its gate and up; only
// chosen experts' weights are read. Memory: rows * used * (2 ffn + width) floats and the choices,
// kept between calls. Threads: the submitting thread. Errors: Error on shapes that do not fit and
// for memory, DeviceError.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/gpu.h"
#include "cuda/linear.h"
#include "device/compute_unit.h"

namespace tandem::cuda {

class Experts {
 public:
  Experts(Gpu& gpu, Linear& linear) : gpu_(gpu), queue_(gpu.queue), linear_(linear) {}

  // Returns the bytes of weights read.
  std::uint64_t run(const device::ExpertsOp& op);

 private:
  struct Shape {
    std::size_t rows, experts, used, width, ffn;
    std::size_t slots() const { return rows * used; }
  };
  // In device memory, of the call.
  struct Places {
    std::int32_t *chosen, *begins, *slot_rows, *slots;
    float *shares, *gate, *up, *results;
  };

  Shape check(const device::ExpertsOp& op) const;
  Places reserve(const Shape& shape);
  void choose(const device::ExpertsOp& op, const Shape& shape, const Places& at);
  void read_begins(const Shape& shape, const Places& at);
  std::uint64_t feed_forward(const device::ExpertsOp& op, const Shape& shape, const Places& at,
                             std::size_t expert);

  Gpu& gpu_;
  Queue& queue_;
  Linear& linear_;
  PoolRange memory_, host_begins_;
  std::vector<std::int32_t> begins_;  // [experts + 1]
};

}  // namespace tandem::cuda
