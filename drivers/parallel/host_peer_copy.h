// SPDX-License-Identifier: Apache-2.0
//
// HostPeerCopy: PeerCopy between units of any kind, through host memory.
//
// Every call waits for the units it names, so a group with it has no overlap. For CPU units, and
// for devices without a better way. Device memory is copied through a staging buffer on each side,
// which grows on demand. Threads: the units' submitting thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/compute_unit.h"
#include "device/peer_copy.h"

namespace tandem::device::parallel {

// Waits for everything enqueued on a unit. Throws DeviceError if it failed or does not finish.
void finish(ComputeUnit& unit);

// One host buffer per unit; it grows on demand.
class StagingBuffers {
 public:
  explicit StagingBuffers(std::span<ComputeUnit* const> units)
      : units_(units.begin(), units.end()), buffers_(units.size()) {}
  // Returns the unit's buffer, of at least `size_bytes`. If the buffer must grow, waits for the
  // unit first; the contents are lost.
  Slice of(int unit, std::size_t size_bytes);

 private:
  std::vector<ComputeUnit*> units_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

class HostPeerCopy final : public PeerCopy {
 public:
  explicit HostPeerCopy(std::span<ComputeUnit* const> units)
      : units_(units.begin(), units.end()), staging_(units) {}

  void copy(int from_unit, const Slice& from, int to_unit, const Slice& to,
            std::size_t size_bytes) override;
  void order(int earlier, int later) override;

 private:
  std::vector<ComputeUnit*> units_;
  StagingBuffers staging_;
};

}  // namespace tandem::device::parallel
