// SPDX-License-Identifier: Apache-2.0
//
// Configurations of public libraries: static constants without a definition are operands, which
// links only if operators take native numbers by value. Built without optimisation.
#include "ap_fixed.h"

namespace {

struct Config {
  static const unsigned kSize = 12;
  static const int kFactor = -3;
  static constexpr double kScale = 0.5;
  static const bool kOn = true;
};

// Every operator of a number with a native one, on either side.
template <typename C, typename Number>
double used(Number number) {
  double sum = 0;
  sum += static_cast<double>(number + C::kSize) + static_cast<double>(C::kSize - number);
  sum += static_cast<double>(number * C::kFactor) + static_cast<double>(number / C::kSize);
  sum += static_cast<double>(number * C::kScale) + static_cast<double>(C::kScale + number);
  sum += static_cast<double>((number << C::kSize) >> C::kSize);
  sum += (number < C::kSize) + (C::kFactor < number) + (number > C::kScale) + (C::kScale <= number);
  Number changed = number;
  changed = C::kSize;
  changed += C::kFactor;
  changed -= C::kScale;
  changed *= C::kSize;
  changed /= C::kFactor;
  changed <<= C::kOn;
  changed >>= C::kOn;
  changed &= C::kSize;
  return sum + static_cast<double>(changed);
}

template <typename C>
double parts() {
  ap_uint<40> number = 5;
  number %= C::kSize;
  number.range(15, 8) = C::kSize;
  number.range(15, 8) += C::kFactor;
  number[30] = C::kOn;
  volatile ap_int<16> port;
  port = C::kFactor;
  const int read = port;
  return number.to_double() + read + static_cast<double>(C::kSize << ap_uint<3>(2));
}

}  // namespace

int main() {
  const double numbers = used<Config>(ap_int<48>(7)) + used<Config>(ap_fixed<48, 24>(7));
  const double all = numbers + parts<Config>();
  std::printf("%.17g\n", all);
  const double expected = 1073744240 + 7.0 / 12;  // computed by hand; the quotient is cut
  return all > expected - 1e-6 && all <= expected ? 0 : 1;
}
