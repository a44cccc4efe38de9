// SPDX-License-Identifier: Apache-2.0
//
// HostReducer: Reducer of units of any kind, through host memory.
//
// Waits for every unit at every call, adds in f32 in unit order on the calling thread, and writes
// the sum back to all. It is the fallback, and the reference of tests. Device memory is copied
// through staging buffers. Threads: the units' submitting thread.
#pragma once

#include <span>
#include <vector>

#include "device/compute_unit.h"
#include "device/reducer.h"
#include "parallel/host_peer_copy.h"

namespace tandem::device::parallel {

class HostReducer final : public Reducer {
 public:
  explicit HostReducer(std::span<ComputeUnit* const> units)
      : units_(units.begin(), units.end()), staging_(units) {}

  void all_reduce(std::span<const Slice> parts, std::size_t count) override;

 private:
  std::vector<ComputeUnit*> units_;
  StagingBuffers staging_;
  // ranges of the current call: the parts, or their copies in staging buffers
  std::vector<Slice> ranges_;
};

}  // namespace tandem::device::parallel
