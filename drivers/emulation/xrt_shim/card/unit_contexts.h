// SPDX-License-Identifier: Apache-2.0
//
// UnitContexts: the contexts on a card's compute units: shared by any number of handles, or
// exclusive.
//
// The bitstream as a whole counts as one more unit (kWholeBitstream), which is always shared. The
// bitstream is in use while there is a context. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tandem::emulation {

constexpr uint32_t kWholeBitstream = ~uint32_t{0};

class UnitContexts {
 public:
  // Returns false if the context of another handle forbids it.
  bool open(const void* handle, uint32_t unit, bool shared);
  // False when the handle has no context on the unit.
  bool close(const void* handle, uint32_t unit);
  bool empty() const;
  // Drops all contexts of a handle; returns the unit of each.
  std::vector<uint32_t> forget(const void* handle);

 private:
  struct Context {
    uint32_t count = 0;
    bool shared = true;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<uint32_t, const void*>, Context> contexts_;  // by unit and handle
};

}  // namespace tandem::emulation
