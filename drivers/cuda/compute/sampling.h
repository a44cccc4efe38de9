// SPDX-License-Identifier: Apache-2.0
//
// Sampling: SampleOp as launches in the queue.
//
// How many launches there are, and of how many blocks per row, follows from the rows: greedy ones
// need one, rows that draw two, cuts three (sampling/sample_rows.h). Memory: the counters by which
// blocks of a row find the last one, kept; the rest is scratch. Threads: the submitting thread.
// Errors: Error on what the descriptor must not hold and for memory, DeviceError.
#pragma once

#include "cuda/gpu/gpu.h"
#include "device/compute_unit.h"

namespace tandem::cuda {

class Sampling {
 public:
  explicit Sampling(Gpu& gpu);

  void run(const device::SampleOp& op);

 private:
  Gpu& gpu_;
  Queue& queue_;
  PoolRange counters_;
};

}  // namespace tandem::cuda
