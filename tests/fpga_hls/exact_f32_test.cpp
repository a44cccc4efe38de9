// SPDX-License-Identifier: Apache-2.0
//
// Integer f32 arithmetic against the machine's own, on operands of every kind.
#include "exact_f32/arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace tandem::exact_f32 {
namespace {

float value(Bits bits) { return std::bit_cast<float>(bits); }

// Equal, or both NaN: the payload of the machine's depends on the order of its operands.
void expect_same(const char* what, Bits a, Bits b, Bits got, float expected) {
  if (is_nan(got) && std::isnan(expected)) return;
  ASSERT_EQ(got, std::bit_cast<Bits>(expected)) << what << " of " << a << ", " << b;
}

void expect_arithmetic(Bits a, Bits b) {
  expect_same("sum", a, b, add(a, b), value(a) + value(b));
  expect_same("difference", a, b, subtract(a, b), value(a) - value(b));
  expect_same("product", a, b, multiply(a, b), value(a) * value(b));
  expect_same("quotient", a, b, divide(a, b), value(a) / value(b));
  expect_same("root", a, a, root(a), std::sqrt(value(a)));
}

TEST(ExactF32, BordersOfTheFormat) {
  std::vector<Bits> borders;
  for (const Bits size :
       {0u, 1u, 2u, 0x7fffffu, 0x800000u, 0x800001u, 0x00ffffffu, 0x3f7fffffu, 0x3f800000u,
        0x3f800001u, 0x3fffffffu, 0x40000000u, 0x1f800000u, 0x5f800000u, 0x7f7fffffu, kInfinity,
        kInfinity | 1u, kInfinity | kQuietBit}) {
    borders.push_back(size);
    borders.push_back(size | kSignBit);
  }
  for (const Bits a : borders) {
    for (const Bits b : borders) expect_arithmetic(a, b);
  }
}

TEST(ExactF32, RandomOperandsOfAnySizeAndOfNeighbouringOnes) {
  std::mt19937_64 random(1);
  const auto bits = [&](int kind) {
    auto any = static_cast<Bits>(random());
    if (kind == 1) any &= kSignBit | 0x7fffffu;                           // subnormal
    if (kind == 2) any = (any & (kSignBit | 0x7fffffu)) | 0x3f800000u;    // of one binade
    if (kind == 3) any = (any & (kSignBit | 0x00ffffffu)) | 0x1f000000u;  // product: subnormal
    return any;
  };
  for (int i = 0; i < 1'000'000; ++i) {
    const auto kind = static_cast<int>(random() % 4);
    expect_arithmetic(bits(kind), bits(random() % 2 == 0 ? kind : 0));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tandem::exact_f32
