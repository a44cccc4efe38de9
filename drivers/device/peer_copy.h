// SPDX-License-Identifier: Apache-2.0
//
// PeerCopy: how compute units of one group reach each other's memory.
//
// Units are numbered as in the list that it was made of. Both calls take effect in the units'
// queues: a copy comes behind what was enqueued on both units, and before all that is enqueued on
// either later. An implementation may wait on the host, as the one through host memory does, or
// only enqueue. Threads: the units' submitting thread. Errors: DeviceError where a unit failed;
// buffers of the group are undefined then.
#pragma once

#include <cstddef>

#include "device/buffer.h"

namespace tandem::device {

class PeerCopy {
 public:
  virtual ~PeerCopy() = default;

  // to = from, `size_bytes`; `from` lies in a buffer of unit `from_unit`, `to` in one of another.
  virtual void copy(int from_unit, const Slice& from, int to_unit, const Slice& to,
                    std::size_t size_bytes) = 0;

  // What is enqueued on `later` from now on comes behind all that was enqueued on `earlier`: for
  // host buffers that both use.
  virtual void order(int earlier, int later) = 0;
};

}  // namespace tandem::device
