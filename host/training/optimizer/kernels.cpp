// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 16 values: a cache line of each array. The last block of a range passes through a copy
// of 16 values, so one formula serves every place. The target is compiled without contraction of
// multiply and add, which rules.h forbids. The hardware's prefetchers stop at the end of a page and
// follow few streams, so every line is asked for kAhead values early.
#include "training/optimizer/kernels.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/optimizer/kernels.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::training {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<FloatTag>;
constexpr FloatTag kF;
constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
constexpr std::size_t kBlock = 16;
constexpr std::size_t kAhead = 256;
static_assert(kBlock % kLanes == 0);

HWY_INLINE Vec all(float value) { return hn::Set(kF, value); }

// One vector of each array.
struct Lanes {
  Vec weight, gradient, first, second;
};

// Nearest, ties to even; a NaN becomes quiet. `stream`: `to` is aligned to a vector of results.
template <bool kStream>
HWY_INLINE void store_bf16(Vec value, std::uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = f32_to_bf16(hn::GetLane(value));
#else
  const hn::RebindToUnsigned<FloatTag> tag;
  const hn::Rebind<std::uint16_t, FloatTag> narrow;
  const auto bits = hn::BitCast(tag, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(tag, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(tag, 0x7fffu)), odd));
  const auto quiet = hn::Or(high, hn::Set(tag, 0x40u));
  const auto is_nan = hn::Gt(hn::And(bits, hn::Set(tag, 0x7fffffffu)), hn::Set(tag, 0x7f800000u));
  const auto result = hn::TruncateTo(narrow, hn::IfThenElse(is_nan, quiet, rounded));
  if constexpr (kStream && kLanes >= 8) {  // Stream() writes 16 bytes at least
    hn::Stream(result, narrow, to);
  } else {
    hn::StoreU(result, narrow, to);
  }
#endif
}

// The arrays that a rule uses beside weights and gradient.
enum Arrays : unsigned { kNone = 0, kFirst = 1, kSecond = 2 };

template <unsigned kArrays>
HWY_INLINE Lanes load_lanes(const KernelValues& v, std::size_t at) {
  Lanes lanes = {hn::LoadU(kF, v.weights + at), hn::LoadU(kF, v.gradient + at), hn::Zero(kF),
                 hn::Zero(kF)};
  if constexpr ((kArrays & kFirst) != 0) lanes.first = hn::LoadU(kF, v.first + at);
  if constexpr ((kArrays & kSecond) != 0) lanes.second = hn::LoadU(kF, v.second + at);
  return lanes;
}

template <unsigned kArrays, bool kCopy, bool kStream>
HWY_INLINE void store_lanes(const Lanes& lanes, const KernelValues& v, std::size_t at) {
  hn::StoreU(lanes.weight, kF, v.weights + at);
  if constexpr ((kArrays & kFirst) != 0) hn::StoreU(lanes.first, kF, v.first + at);
  if constexpr ((kArrays & kSecond) != 0) hn::StoreU(lanes.second, kF, v.second + at);
  if constexpr (kCopy) store_bf16<kStream>(lanes.weight, v.copy + at);
}

template <unsigned kArrays>
HWY_INLINE void read_ahead(const KernelValues& v, std::size_t at) {  // may be after the end
  __builtin_prefetch(v.gradient + at, 0, 0);
  __builtin_prefetch(v.weights + at, 1, 0);
  if constexpr ((kArrays & kFirst) != 0) __builtin_prefetch(v.first + at, 1, 0);
  if constexpr ((kArrays & kSecond) != 0) __builtin_prefetch(v.second + at, 1, 0);
}

// The values from `at` on, fewer than a block.
template <unsigned kArrays, bool kCopy, class Rule>
void apply_rest(const Rule& rule, const KernelValues& v, std::size_t at, std::size_t count) {
  HWY_ALIGN float room[4][kBlock] = {};
  HWY_ALIGN std::uint16_t narrow[kBlock] = {};
  std::copy_n(v.weights + at, count, room[0]);
  std::copy_n(v.gradient + at, count, room[1]);
  if constexpr ((kArrays & kFirst) != 0) std::copy_n(v.first + at, count, room[2]);
  if constexpr ((kArrays & kSecond) != 0) std::copy_n(v.second + at, count, room[3]);
  const KernelValues rest = {room[0], room[1], room[2], room[3], narrow, false};
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    Lanes lanes = load_lanes<kArrays>(rest, i);
    rule.apply(lanes);
    store_lanes<kArrays, kCopy, false>(lanes, rest, i);
  }
  std::copy_n(room[0], count, v.weights + at);
  if constexpr ((kArrays & kFirst) != 0) std::copy_n(room[2], count, v.first + at);
  if constexpr ((kArrays & kSecond) != 0) std::copy_n(room[3], count, v.second + at);
  if constexpr (kCopy) std::copy_n(narrow, count, v.copy + at);
}

template <unsigned kArrays, bool kCopy, bool kStream, class Rule>
void apply_all(const Rule& rule, const KernelValues& v, std::size_t count) {
  std::size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    read_ahead<kArrays>(v, at + kAhead);
    for (std::size_t i = at; i < at + kBlock; i += kLanes) {
      Lanes lanes = load_lanes<kArrays>(v, i);
      rule.apply(lanes);
      store_lanes<kArrays, kCopy, kStream>(lanes, v, i);
    }
  }
  if (at < count) apply_rest<kArrays, kCopy>(rule, v, at, count - at);
  if constexpr (kStream) hwy::FlushStream();
}

template <unsigned kArrays, class Rule>
void choose(const Rule& rule, const KernelValues& v, std::size_t count) {
  if (v.copy == nullptr) {
    apply_all<kArrays, false, false>(rule, v, count);
  } else if (v.stream && reinterpret_cast<std::uintptr_t>(v.copy) % 64 == 0) {
    apply_all<kArrays, true, true>(rule, v, count);
  } else {
    apply_all<kArrays, true, false>(rule, v, count);
  }
}

template <bool kMomentum, bool kNesterov, bool kDecay>
struct SgdLoop {
  Vec scale, rate, momentum, decay;

  explicit SgdLoop(const SgdFactors& f)
      : scale(all(f.scale)), rate(all(f.rate)), momentum(all(f.momentum)), decay(all(f.decay)) {}

  HWY_INLINE void apply(Lanes& x) const {
    Vec g = hn::Mul(scale, x.gradient);
    if constexpr (kDecay) g = hn::Add(g, hn::Mul(decay, x.weight));
    if constexpr (kMomentum) {
      x.first = hn::Add(hn::Mul(momentum, x.first), g);
      g = kNesterov ? hn::Add(g, hn::Mul(momentum, x.first)) : x.first;
    }
    x.weight = hn::Sub(x.weight, hn::Mul(rate, g));
  }
};

template <bool kL2>
struct AdamLoop {
  Vec scale, decay, beta1, rest1, beta2, rest2, rate, root_factor, epsilon;

  explicit AdamLoop(const AdamFactors& f)
      : scale(all(f.scale)),
        decay(all(f.decay)),
        beta1(all(f.beta1)),
        rest1(all(f.rest1)),
        beta2(all(f.beta2)),
        rest2(all(f.rest2)),
        rate(all(f.rate)),
        root_factor(all(f.root_factor)),
        epsilon(all(f.epsilon)) {}

  HWY_INLINE void apply(Lanes& x) const {
    Vec g = hn::Mul(scale, x.gradient);
    Vec w = x.weight;
    if constexpr (kL2) {
      g = hn::Add(g, hn::Mul(decay, w));
    } else {
      w = hn::Mul(decay, w);
    }
    x.first = hn::Add(hn::Mul(beta1, x.first), hn::Mul(rest1, g));
    x.second = hn::Add(hn::Mul(beta2, x.second), hn::Mul(hn::Mul(rest2, g), g));
    const Vec divisor = hn::Add(hn::Mul(hn::Sqrt(x.second), root_factor), epsilon);
    x.weight = hn::Sub(w, hn::Div(hn::Mul(rate, x.first), divisor));
  }
};

struct RowAdamLoop {
  Vec scale, beta1, rest1, beta2, rest2, correct1, correct2, epsilon, rate, decay;

  explicit RowAdamLoop(const RowAdamFactors& f)
      : scale(all(f.scale)),
        beta1(all(f.beta1)),
        rest1(all(f.rest1)),
        beta2(all(f.beta2)),
        rest2(all(f.rest2)),
        correct1(all(f.correct1)),
        correct2(all(f.correct2)),
        epsilon(all(f.epsilon)),
        rate(all(f.rate)),
        decay(all(f.decay)) {}

  HWY_INLINE void apply(Lanes& x) const {
    const Vec g = hn::Mul(scale, x.gradient);
    x.first = hn::Add(hn::Mul(beta1, x.first), hn::Mul(rest1, g));
    x.second = hn::Add(hn::Mul(beta2, x.second), hn::Mul(rest2, hn::Mul(g, g)));
    const Vec root = hn::Sqrt(hn::Mul(x.second, correct2));
    const Vec step = hn::Div(hn::Mul(x.first, correct1), hn::Add(root, epsilon));
    x.weight = hn::Sub(x.weight, hn::Mul(rate, hn::Add(step, hn::Mul(decay, x.weight))));
  }
};

struct AdamDirection {
  Vec scale, beta1, rest1, beta2, rest2, correct1, correct2, noise, signal, epsilon;

  explicit AdamDirection(const DirectionFactors& f)
      : scale(all(f.scale)),
        beta1(all(f.beta1)),
        rest1(all(f.rest1)),
        beta2(all(f.beta2)),
        rest2(all(f.rest2)),
        correct1(all(f.correct1)),
        correct2(all(f.correct2)),
        noise(all(f.noise)),
        signal(all(f.signal)),
        epsilon(all(f.epsilon)) {}

  HWY_INLINE void apply(Lanes& x) const {
    const Vec g = hn::Mul(scale, x.gradient);
    x.first = hn::Add(hn::Mul(beta1, x.first), hn::Mul(rest1, g));
    x.second = hn::Add(hn::Mul(beta2, x.second), hn::Mul(hn::Mul(rest2, g), g));
    const Vec m = hn::Mul(x.first, correct1);
    const Vec squares =
        hn::Add(hn::Mul(hn::Mul(x.second, correct2), noise), hn::Mul(signal, hn::Mul(m, m)));
    x.weight = hn::Div(m, hn::Add(hn::Sqrt(squares), epsilon));
  }
};

template <bool kNesterov>
struct SgdDirection {
  Vec scale, momentum;

  explicit SgdDirection(const SgdFactors& f) : scale(all(f.scale)), momentum(all(f.momentum)) {}

  HWY_INLINE void apply(Lanes& x) const {
    const Vec g = hn::Mul(scale, x.gradient);
    x.first = hn::Add(hn::Mul(momentum, x.first), g);
    x.weight = kNesterov ? hn::Add(g, hn::Mul(momentum, x.first)) : x.first;
  }
};

struct AdagradLoop {
  bool scaled;  // the weights are multiplied by `keep`
  Vec scale, keep, step;

  HWY_INLINE void apply(Lanes& x) const {
    const Vec g = hn::Mul(scale, x.gradient);
    const Vec w = scaled ? hn::Mul(keep, x.weight) : x.weight;
    x.weight = hn::Sub(w, hn::Mul(step, g));
  }
};

// The sum of the squares of the row's gradients: value i goes into partial sum i mod 16.
float row_squares(const AdagradFactors& f, const KernelValues& v, std::size_t count) {
  constexpr std::size_t kVectors = kBlock / kLanes;
  const bool l2 = f.mode == AdagradFactors::kL2;
  const Vec scale = all(f.scale), decay = all(f.decay);
  Vec sums[kVectors];
  for (Vec& sum : sums) sum = hn::Zero(kF);
  const auto add = [&](const float* weights, const float* gradient) HWY_ATTR {
    for (std::size_t i = 0; i < kVectors; ++i) {
      Vec g = hn::Mul(scale, hn::LoadU(kF, gradient + i * kLanes));
      if (l2) g = hn::Add(g, hn::Mul(decay, hn::LoadU(kF, weights + i * kLanes)));
      sums[i] = hn::Add(sums[i], hn::Mul(g, g));
    }
  };
  std::size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) add(v.weights + at, v.gradient + at);
  if (at < count) {
    HWY_ALIGN float room[2][kBlock] = {};
    std::copy(v.weights + at, v.weights + count, room[0]);
    std::copy(v.gradient + at, v.gradient + count, room[1]);
    add(room[0], room[1]);
  }
  HWY_ALIGN float partial[kBlock];
  for (std::size_t i = 0; i < kVectors; ++i) hn::StoreU(sums[i], kF, partial + i * kLanes);
  for (std::size_t half = kBlock / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
  }
  return partial[0];
}

template <bool kMomentum, bool kNesterov>
void sgd_decayed(const SgdFactors& f, const KernelValues& v, std::size_t count) {
  constexpr unsigned kArrays = kMomentum ? kFirst : kNone;
  if (f.decay == 0) {
    choose<kArrays>(SgdLoop<kMomentum, kNesterov, false>(f), v, count);
  } else {
    choose<kArrays>(SgdLoop<kMomentum, kNesterov, true>(f), v, count);
  }
}

}  // namespace

void sgd(const SgdFactors& f, const KernelValues& v, std::size_t count) {
  if (f.momentum == 0) return sgd_decayed<false, false>(f, v, count);
  if (f.nesterov) return sgd_decayed<true, true>(f, v, count);
  sgd_decayed<true, false>(f, v, count);
}

void adam(const AdamFactors& f, const KernelValues& v, std::size_t count) {
  if (f.l2) return choose<kFirst | kSecond>(AdamLoop<true>(f), v, count);
  choose<kFirst | kSecond>(AdamLoop<false>(f), v, count);
}

void row_adam(const RowAdamFactors& f, const KernelValues& v, std::size_t count) {
  choose<kFirst | kSecond>(RowAdamLoop(f), v, count);
}

void adam_direction(const DirectionFactors& f, const KernelValues& v, std::size_t count) {
  choose<kFirst | kSecond>(AdamDirection(f), v, count);
}

void sgd_direction(const SgdFactors& f, const KernelValues& v, std::size_t count) {
  if (f.nesterov) return choose<kFirst>(SgdDirection<true>(f), v, count);
  choose<kFirst>(SgdDirection<false>(f), v, count);
}

void rowwise_adagrad(const AdagradFactors& f, const KernelValues& v, std::size_t count) {
  const float mean = row_squares(f, v, count) / static_cast<float>(count);
  *v.first = *v.first + mean;
  const float step = f.rate / (std::sqrt(*v.first) + f.epsilon);
  const float keep = f.mode == AdagradFactors::kL2 ? 1.0f - step * f.decay : f.decay;
  const bool scaled = f.mode != AdagradFactors::kNone;
  choose<kNone>(AdagradLoop{scaled, all(f.scale), all(keep), all(step)}, v, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::training
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::training {
HWY_EXPORT(sgd);
HWY_EXPORT(adam);
HWY_EXPORT(row_adam);
HWY_EXPORT(adam_direction);
HWY_EXPORT(sgd_direction);
HWY_EXPORT(rowwise_adagrad);

void apply_sgd(const SgdFactors& factors, const KernelValues& values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(sgd)(factors, values, count);
}
void apply_adam(const AdamFactors& factors, const KernelValues& values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(adam)(factors, values, count);
}
void apply_row_adam(const RowAdamFactors& factors, const KernelValues& values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(row_adam)(factors, values, count);
}
void apply_adam_direction(const DirectionFactors& factors, const KernelValues& values,
                          std::size_t count) {
  HWY_DYNAMIC_DISPATCH(adam_direction)(factors, values, count);
}
void apply_sgd_direction(const SgdFactors& factors, const KernelValues& values, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(sgd_direction)(factors, values, count);
}
void apply_rowwise_adagrad(const AdagradFactors& factors, const KernelValues& values,
                           std::size_t count) {
  HWY_DYNAMIC_DISPATCH(rowwise_adagrad)(factors, values, count);
}

}  // namespace tandem::training
#endif  // HWY_ONCE
