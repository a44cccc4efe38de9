// SPDX-License-Identifier: Apache-2.0
//
// Clock-cycle controls of HLS kernels: ap_wait, ap_wait_n, ap_wait_until, hls::reg.
//
// Software has no clock, so ap_wait and ap_wait_n return at once, ap_wait_until tests its condition
// once, and hls::reg returns its value. All keep the compiler from moving memory accesses across
// them, as the hardware's schedule would. Source: Vitis HLS user guide (UG1399), "ap_utils.h", "HLS
// Protocol". C++11.
#pragma once

#include "tandem_macros_begin.h"

inline void ap_wait() { __asm__ __volatile__("" ::: "memory"); }
inline void ap_wait_n(int cycles) {
  static_cast<void>(cycles);
  ap_wait();
}
template <typename Condition>
inline void ap_wait_until(const Condition& condition) {
  static_cast<void>(condition);
  ap_wait();
}

namespace hls {

template <typename T>
inline T reg(T value) {
  return value;
}

}  // namespace hls

#include "tandem_macros_end.h"
