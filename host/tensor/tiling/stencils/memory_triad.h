// SPDX-License-Identifier: Apache-2.0
//
// MemoryTriad: measures the bandwidth of a = b + 3 c, the reference for sweeps, and of a = b.
//
// Each call makes one pass over three or two arrays. Each thread uses the part that it touched
// first. Bytes count each array once, as in STREAM (McCalpin, IEEE TCCA 1995). Half of a copy's
// bytes are writes, as of heat; memory may be slower then. Threads: one caller; `pool`
// runs the parts.
#pragma once

#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::tiling {

class MemoryTriad {
 public:
  // length: values of an array.
  MemoryTriad(std::size_t length, ThreadPool& pool);

  double bytes() const { return 3.0 * sizeof(double) * static_cast<double>(a_.size()); }
  double copy_bytes() const { return bytes() / 3 * 2; }
  // streams: non-temporal stores that bypass the caches.
  void run(bool streams);
  void copy(bool streams);

 private:
  template <typename Body>
  void for_parts(const Body& body);

  ThreadPool& pool_;
  RawVector<double> a_, b_, c_;
};

}  // namespace tandem::tiling
