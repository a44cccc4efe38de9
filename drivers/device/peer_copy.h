// SPDX-License-Identifier: Apache-2.0
//
// PeerCopy: copies between the compute units of one group.
//
// A unit's number is its index in the list that this was made from. Both calls take effect in the
// units' queues: a copy runs after everything enqueued on both units, and before everything
// enqueued on either later. An implementation may wait on the host (the one through host memory
// does) or only enqueue. Threads: the units' submitting thread. Errors: DeviceError when a unit
// failed; buffers of the group are undefined then.
#pragma once

#include <cstddef>

#include "device/buffer.h"

namespace tandem::device {

class PeerCopy {
 public:
  virtual ~PeerCopy() = default;

  // to = from, `size_bytes`; `from` is in a buffer of unit `from_unit`, `to` in a buffer of another
  // unit.
  virtual void copy(int from_unit, const Slice& from, int to_unit, const Slice& to,
                    std::size_t size_bytes) = 0;

  // Work enqueued on `later` from now on runs after all work enqueued on `earlier` so far. For host
  // buffers that both use.
  virtual void order(int earlier, int later) = 0;
};

}  // namespace tandem::device
