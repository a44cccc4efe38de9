// SPDX-License-Identifier: Apache-2.0
//
// hls::fence: accesses to the named objects happen in program order.
//
// fence(a, b, ...) orders all of them; fence({a, b}, {c}) orders only the first group before the
// second. Software keeps program order within a process, so it is enough to stop the compiler from
// reordering. Source: Vitis HLS user guide (UG1399), "HLS Fence Library". C++11.
#pragma once

#include <initializer_list>

#include "tandem_macros_begin.h"

namespace hls {
namespace fence_detail {

struct Object {
  template <typename T>
  Object(T&) {}
};

}  // namespace fence_detail

template <typename... Objects>
inline void fence(Objects&...) {
  __asm__ __volatile__("" ::: "memory");
}
inline void fence(std::initializer_list<fence_detail::Object>,
                  std::initializer_list<fence_detail::Object>) {
  __asm__ __volatile__("" ::: "memory");
}

}  // namespace hls

#include "tandem_macros_end.h"
