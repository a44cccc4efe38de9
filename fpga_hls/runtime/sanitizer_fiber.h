// SPDX-License-Identifier: Apache-2.0
//
// Tells AddressSanitizer and ThreadSanitizer which stack runs. Without sanitizers the calls are
// empty.
//
// Handles are opaque: one per process, made with its stack. Call leave() before a switch, and
// arrived() after it on the new stack.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem::hls_runtime::sanitizer {

#if defined(__SANITIZE_ADDRESS__)
struct Fiber {
  const void* low;
  size_t size_bytes;
  void* fake_stack = nullptr;
};
inline void* make_fiber(const void* low, size_t size_bytes) { return new Fiber{low, size_bytes}; }
inline void* thread_fiber(const void* low, size_t size_bytes) {
  return make_fiber(low, size_bytes);
}
inline void drop_fiber(void* fiber) { delete static_cast<Fiber*>(fiber); }
inline void drop_thread_fiber(void* fiber) { drop_fiber(fiber); }
inline void leave(void* from, void* to) {
  const Fiber& target = *static_cast<Fiber*>(to);
  __sanitizer_start_switch_fiber(&static_cast<Fiber*>(from)->fake_stack, target.low,
                                 target.size_bytes);
}
inline void leave_for_good(void*, void* to) {
  const Fiber& target = *static_cast<Fiber*>(to);
  __sanitizer_start_switch_fiber(nullptr, target.low, target.size_bytes);
}
inline void arrived(void* here) {
  __sanitizer_finish_switch_fiber(static_cast<Fiber*>(here)->fake_stack, nullptr, nullptr);
}
#elif defined(__SANITIZE_THREAD__)
inline void* make_fiber(const void*, size_t) { return __tsan_create_fiber(0); }
inline void* thread_fiber(const void*, size_t) { return __tsan_get_current_fiber(); }
inline void drop_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void drop_thread_fiber(void*) {}
inline void leave(void*, void* to) { __tsan_switch_to_fiber(to, 0); }
inline void leave_for_good(void*, void* to) { __tsan_switch_to_fiber(to, 0); }
inline void arrived(void*) {}
#else
inline void* make_fiber(const void*, size_t) { return nullptr; }
inline void* thread_fiber(const void*, size_t) { return nullptr; }
inline void drop_fiber(void*) {}
inline void drop_thread_fiber(void*) {}
inline void leave(void*, void*) {}
inline void leave_for_good(void*, void*) {}
inline void arrived(void*) {}
#endif

}  // namespace tandem::hls_runtime::sanitizer
