// SPDX-License-Identifier: Apache-2.0
//
// The product loops that Highway expresses, for AVX-512, AVX2, NEON and scalar, chosen at run time.
//
// Every sum is also an operand of its own product, and sums start with different values. So no
// product is constant or equal to another one, which the compiler would remove.
#include "cpu/kernels/speed/product_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/speed/product_loop.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSums = 12;  // with the operands, what 16 registers hold

float f32_products(std::size_t iterations) {
  const hn::ScalableTag<float> floats;
  using V = hn::Vec<decltype(floats)>;
  // 0.5 s + 1 stays finite for any number of iterations.
  const V half = hn::Set(floats, 0.5f), one = hn::Set(floats, 1.0f);
  const auto start = [&](float value) { return hn::Set(floats, value); };
  V s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3), s4 = start(4), s5 = start(5);
  V s6 = start(6), s7 = start(7), s8 = start(8), s9 = start(9), s10 = start(10), s11 = start(11);
  for (std::size_t i = 0; i < iterations; ++i) {
    s0 = hn::MulAdd(s0, half, one), s1 = hn::MulAdd(s1, half, one);
    s2 = hn::MulAdd(s2, half, one), s3 = hn::MulAdd(s3, half, one);
    s4 = hn::MulAdd(s4, half, one), s5 = hn::MulAdd(s5, half, one);
    s6 = hn::MulAdd(s6, half, one), s7 = hn::MulAdd(s7, half, one);
    s8 = hn::MulAdd(s8, half, one), s9 = hn::MulAdd(s9, half, one);
    s10 = hn::MulAdd(s10, half, one), s11 = hn::MulAdd(s11, half, one);
  }
  const V low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const V high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
  return hn::GetLane(hn::SumOfLanes(floats, hn::Add(low, high)));
}

double f32_ops() { return 2.0 * static_cast<double>(kSums * hn::Lanes(hn::ScalableTag<float>())); }

float int16_products(std::size_t iterations) {
  const hn::ScalableTag<std::int16_t> shorts;
  using V = hn::Vec<decltype(shorts)>;
  const V three = hn::Set(shorts, std::int16_t{3});
  const auto start = [&](std::int16_t value) { return hn::Set(shorts, value); };
  V s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3), s4 = start(4), s5 = start(5);
  V s6 = start(6), s7 = start(7), s8 = start(8), s9 = start(9), s10 = start(10), s11 = start(11);
  const auto add = [&](V& sum) { sum = hn::Add(hn::Mul(sum, three), three); };
  for (std::size_t i = 0; i < iterations; ++i) {
    add(s0), add(s1), add(s2), add(s3), add(s4), add(s5);
    add(s6), add(s7), add(s8), add(s9), add(s10), add(s11);
  }
  V all = three;
  for (const V& sum : {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11}) all = hn::Xor(all, sum);
  return static_cast<float>(hn::GetLane(all));
}

double int16_ops() {
  return 2.0 * static_cast<double>(kSums * hn::Lanes(hn::ScalableTag<std::int16_t>()));
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(f32_products);
HWY_EXPORT(f32_ops);
HWY_EXPORT(int16_products);
HWY_EXPORT(int16_ops);

ProductLoop f32_product_loop() {
  return {[](std::size_t iterations) { return HWY_DYNAMIC_DISPATCH(f32_products)(iterations); },
          HWY_DYNAMIC_DISPATCH(f32_ops)()};
}

ProductLoop int16_product_loop() {
  return {[](std::size_t iterations) { return HWY_DYNAMIC_DISPATCH(int16_products)(iterations); },
          HWY_DYNAMIC_DISPATCH(int16_ops)()};
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
