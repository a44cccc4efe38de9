// SPDX-License-Identifier: Apache-2.0
//
// Sampling: SampleOp as launches of the queue.
//
// Greedy rows need one launch, rows that draw need two, rows with cuts three
// (sampling/sample_rows.h). Memory: counters, by which the last block of a row recognises that it
// is the last, are kept; the rest is scratch. Threads: the submitting thread. Errors: Error for
// invalid descriptors and for memory; DeviceError.
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
