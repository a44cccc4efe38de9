// SPDX-License-Identifier: Apache-2.0
//
// Stands in for gloo's header of this name, which libgloo-dev (0.0~git20220518) includes from
// gloo/transport/tcp but does not ship. Only on the include path where the header is missing.
//
// Declares the three smart pointers by which gloo's thread refers to a buffer that its user may
// destroy; the library has their compiled definitions. Their layout must match, one standard
// pointer each, because they are members of the classes that the mesh extends. Threads: as
// std::shared_ptr.
#pragma once

#include <memory>

namespace gloo {

// A member of a buffer. Its destructor, in the library, waits until gloo's thread releases the
// buffer.
template <typename T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* buffer);
  ~ShareableNonOwningPtr();
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;

  std::shared_ptr<T> ptr_;
};

// Held by gloo's operations.
template <typename T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& buffer) : ptr_(buffer.ptr_) {}

  std::weak_ptr<T> ptr_;
};

// Held while an operation touches the buffer.
template <typename T>
class NonOwningPtr final {
 public:
  std::shared_ptr<T> ptr_;
};

}  // namespace gloo
