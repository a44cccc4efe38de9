// SPDX-License-Identifier: Apache-2.0
//
// The map is ordered, so the contexts of one unit are neighbours.
#include "emulation/xrt_shim/card/unit_contexts.h"

namespace tandem::emulation {

bool UnitContexts::open(const void* handle, uint32_t unit, bool shared) {
  std::lock_guard lock(mutex_);
  for (auto it = contexts_.lower_bound({unit, nullptr});
       it != contexts_.end() && it->first.first == unit; ++it) {
    const bool compatible = shared && it->second.shared;
    if (it->first.second != handle && !compatible) return false;
  }
  Context& context = contexts_[{unit, handle}];
  if (context.count > 0 && context.shared != shared) return false;
  ++context.count;
  context.shared = shared;
  return true;
}

bool UnitContexts::close(const void* handle, uint32_t unit) {
  std::lock_guard lock(mutex_);
  const auto found = contexts_.find({unit, handle});
  if (found == contexts_.end()) return false;
  if (--found->second.count == 0) contexts_.erase(found);
  return true;
}

bool UnitContexts::empty() const {
  std::lock_guard lock(mutex_);
  return contexts_.empty();
}

std::vector<uint32_t> UnitContexts::forget(const void* handle) {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> units;
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    if (it->first.second != handle) {
      ++it;
      continue;
    }
    units.insert(units.end(), it->second.count, it->first.first);
    it = contexts_.erase(it);
  }
  return units;
}

}  // namespace tandem::emulation
