// SPDX-License-Identifier: Apache-2.0
//
// A forked child has none of the threads of its parent, so it begins without addresses.
#include "emulation/xrt_shim/core_device.h"

#include <mutex>
#include <new>
#include <vector>

#include "emulation/protocol/fork_count.h"

namespace tandem::emulation {
namespace {

using XrtDevice = xrt_core::swemu::device;

class FreePlaces {
 public:
  void* take() {
    const std::lock_guard lock(mutex_);
    if (process_ != fork_count()) places_.clear();
    process_ = fork_count();
    if (places_.empty()) return ::operator new(sizeof(XrtDevice));
    void* const place = places_.back();
    places_.pop_back();
    return place;
  }

  // `process`: the fork_count() when it was taken.
  void give_back(void* place, uint32_t process) {
    const std::lock_guard lock(mutex_);
    if (process == process_) places_.push_back(place);
  }

 private:
  std::mutex mutex_;
  uint32_t process_ = 0;
  std::vector<void*> places_;
};

// Never destroyed: applications close devices during static destruction.
FreePlaces& free_places() {
  static auto& places = *new FreePlaces;
  return places;
}

}  // namespace

std::shared_ptr<xrt_core::device> make_core_device(void* handle, unsigned int index) {
  void* const place = free_places().take();
  const uint32_t process = fork_count();
  XrtDevice* device = nullptr;
  try {
    device = new (place) XrtDevice(handle, index, true);
  } catch (...) {
    free_places().give_back(place, process);
    throw;
  }
  const auto end = [device, place, process](xrt_core::device*) {
    device->~XrtDevice();
    free_places().give_back(place, process);
  };
  return {reinterpret_cast<xrt_core::device*>(device), end};
}

}  // namespace tandem::emulation
