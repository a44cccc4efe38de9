// SPDX-License-Identifier: Apache-2.0
//
// AlignedVector: a std::vector whose first element lies at the begin of a cache line.
//
// For rows of whole vectors: on the processors that were measured, a load of 64 bytes across two
// lines takes the time of two. In all else it is a std::vector. Threads: as std::vector.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tandem {

constexpr std::size_t kLineAlignment = 64;

template <typename T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kLineAlignment}));
  }
  void deallocate(T* place, std::size_t) noexcept {
    ::operator delete (place, std::align_val_t{kLineAlignment});
  }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

template <typename T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

}  // namespace tandem
