// SPDX-License-Identifier: Apache-2.0
//
// two_digits: a number with two decimals, "1.41", for the texts of assumptions.
#pragma once

#include <cstdio>
#include <string>

namespace tandem::simulation {

inline std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace tandem::simulation
