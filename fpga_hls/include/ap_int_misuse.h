// SPDX-License-Identifier: Apache-2.0
//
// What numbers of the HLS headers do when a program uses them in a way that has no result: an
// emulated card reports it (tandem_misuse.h), then they throw. C++11.
#pragma once

#include <stdexcept>
#include <string>

#include "tandem_misuse.h"

#include "tandem_macros_begin.h"

namespace ap_detail {

[[noreturn]] inline __attribute__((cold, noinline)) void throw_division() {
  tandem_hls::misused("division_by_zero",
                      "the kernel divides by zero; hardware continues with any value: check the "
                      "divisor");
  throw std::domain_error("ap_int: division by zero");
}

[[noreturn]] inline __attribute__((cold, noinline)) void no_such_bit(int at, int width) {
  const std::string what =
      "a number of " + std::to_string(width) + " bits has no bit " + std::to_string(at);
  tandem_hls::misused("local_out_of_bounds", (what + ": check the index").c_str());
  throw std::out_of_range("ap_int: " + what);
}
inline int checked_bit(int at, int width) {
  if (static_cast<unsigned>(at) >= static_cast<unsigned>(width)) no_such_bit(at, width);
  return at;
}

}  // namespace ap_detail

#include "tandem_macros_end.h"
