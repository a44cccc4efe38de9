// SPDX-License-Identifier: Apache-2.0
//
// ap_shift_reg<T, N>: a shift register of N values, the newest at address 0.
//
// shift() returns the value at `address`, then moves every value up by one. An address outside the
// register throws std::out_of_range. Not copyable, as in hardware. Source: Vitis HLS user guide
// (UG1399), "Shift Register Class". C++11.
#pragma once

#include <stdexcept>
#include <string>

#include "tandem_macros_begin.h"

template <typename T, unsigned N = 32>
class ap_shift_reg {
 public:
  ap_shift_reg() : values_() {}
  explicit ap_shift_reg(const char* name) : values_() { static_cast<void>(name); }
  ap_shift_reg(const ap_shift_reg&) = delete;
  ap_shift_reg& operator=(const ap_shift_reg&) = delete;

  T shift(const T& value, unsigned address = N - 1, bool enable = true) {
    const T result = read(address);
    if (enable) {
      for (unsigned at = N - 1; at > 0; --at) values_[at] = values_[at - 1];
      values_[0] = value;
    }
    return result;
  }
  T read(unsigned address = N - 1) const {
    if (address >= N) {
      throw std::out_of_range("ap_shift_reg of " + std::to_string(N) + " values has no address " +
                              std::to_string(address));
    }
    return values_[address];
  }

 private:
  T values_[N];
};

#include "tandem_macros_end.h"
