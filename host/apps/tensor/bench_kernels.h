// SPDX-License-Identifier: Apache-2.0
//
// time_kernel: how long a kernel of `tandem tensor bench` takes on a tensor.
//
// Dense operands are pseudo-random. The time is the median of the runs, after one that is not
// counted. Threads: one caller; `pool` runs the kernels. Errors: those of the kernels' formats.
#pragma once

#include <string>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::apps {

struct TensorBenchOptions {
  std::string path, op, dtype = "f32";
  std::size_t mode = 0, rank = 16, columns = 32;
  double seconds = 1;
  bool json = false;
  int threads = 0;
};

struct KernelTimes {
  std::string method;
  std::size_t blocks = 0;  // 0: it has none
  double ms = 0, build_ms = 0;
  std::size_t bytes = 0;  // all that is read or written, once
};

// The tensor has no duplicates, and the order that the operation takes.
KernelTimes time_kernel(const TensorBenchOptions& options, const sparse::CooTensor& tensor,
                        ThreadPool& pool);

}  // namespace tandem::apps
