// SPDX-License-Identifier: Apache-2.0
//
// XRT asks aligned_alloc() for pages and any size, which glibc grants. A sanitizer's
// aligned_alloc() ends the program unless the size is a multiple of the alignment. This one stands
// before it.
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
#endif
