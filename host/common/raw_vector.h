// SPDX-License-Identifier: Apache-2.0
//
// RawVector: a std::vector whose resize() leaves new elements uninitialised.
//
// For large buffers that the caller overwrites at once: std::vector's initialisation costs a pass
// over memory. In all else it is a std::vector. Threads: as std::vector.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace tandem {

template <typename T>
struct DefaultInitAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = DefaultInitAllocator<U>;
  };

  using std::allocator<T>::allocator;

  template <typename U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};

template <typename T>
using RawVector = std::vector<T, DefaultInitAllocator<T>>;

}  // namespace tandem
