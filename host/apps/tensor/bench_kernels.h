// SPDX-License-Identifier: Apache-2.0
//
// time_kernel: measures a kernel of `tandem tensor bench` on a tensor.
//
// Dense operands are pseudo-random. The time is the median of the runs, without the first one.
// Threads: one caller; `pool` runs the kernels. Errors: those of the kernels' formats.
#pragma once

#include <string>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::apps {

struct TensorBenchOptions {
  std::string path, op, dtype = "f32", kernels = "auto";
  std::size_t mode = 0, rank = 16, columns = 32;
  double seconds = 1;
  bool json = false;
  int threads = 0;
};

struct KernelTimes {
  std::string method;
  std::size_t blocks = 0;  // 0: the method has no blocks
  double ms = 0, build_ms = 0;
  double choice_ms = 0;   // compilation and measurement of a generated kernel, before `ms`
  std::size_t bytes = 0;  // all bytes that are read or written, each counted once
};

// The tensor must have no duplicates and the order that the operation needs.
KernelTimes time_kernel(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool);

}  // namespace tandem::apps
