// SPDX-License-Identifier: Apache-2.0
//
// For AVX-512, AVX2 and the baseline, chosen at run time. The loops over places are plain and left
// to the compiler's vectoriser: every step is a 32 x 32 -> 64 or a 64-bit product, a shift or a
// choice. Division by num_owners: unit * floor(2^32 / n) >> 32 is the quotient or one less.
#include "tensor/sparse/hashed_places.h"

// It compresses 16-bit lanes in one step; Highway omits this target unless it is requested.
#define HWY_WANT_AVX3_DL

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/hashed_places.cpp"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <array>
#include <bit>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE std::uint64_t rotation_here(std::uint64_t group, std::uint64_t seed, std::uint64_t n) {
  std::uint64_t value = group + seed;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  value = value ^ (value >> 31);
  return ((value >> 32) * n + (((value & 0xffffffffu) * n) >> 32)) >> 32;
}

void places(const HashedOwners& hashed, const std::uint32_t* HWY_RESTRICT units, std::size_t count,
            std::uint32_t* HWY_RESTRICT owners, std::uint32_t* HWY_RESTRICT locals) {
  const std::uint64_t n = hashed.num_owners, seed = hashed.seed;
  const std::uint64_t reciprocal = (std::uint64_t{1} << 32) / n;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t unit = units[i];
    std::uint64_t group = (unit * reciprocal) >> 32;
    std::uint64_t rest = unit - group * n;
    group += rest >= n ? 1 : 0;
    rest -= rest >= n ? n : 0;
    const std::uint64_t owner = rest + rotation_here(group, seed, n);
    owners[i] = static_cast<std::uint32_t>(owner - (owner >= n ? n : 0));
    locals[i] = static_cast<std::uint32_t>(group);
  }
}

void units(const HashedOwners& hashed, std::uint32_t owner,
           const std::uint32_t* HWY_RESTRICT locals, std::size_t count,
           std::uint32_t* HWY_RESTRICT to) {
  const std::uint64_t n = hashed.num_owners, seed = hashed.seed;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t rest = owner + n - rotation_here(locals[i], seed, n);
    to[i] = static_cast<std::uint32_t>(locals[i] * n + rest - (rest >= n ? n : 0));
  }
}

// Of the factors' low words.
template <class V>
HWY_INLINE V product_of_lows(V a, V b) {
  const hn::DFromV<V> tag;
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 1) {  // the baseline has no vectors
    const auto low = hn::Set(tag, 0xffffffffu);
    return hn::And(a, low) * hn::And(b, low);
  } else {
    const hn::Repartition<std::uint32_t, decltype(tag)> words;
    return hn::MulEven(hn::BitCast(words, a), hn::BitCast(words, b));
  }
}

template <class V>
HWY_INLINE V mix_here(V value) {
  const hn::DFromV<V> tag;
  value = hn::Xor(value, hn::ShiftRight<30>(value)) * hn::Set(tag, 0xbf58476d1ce4e5b9ull);
  value = hn::Xor(value, hn::ShiftRight<27>(value)) * hn::Set(tag, 0x94d049bb133111ebull);
  return hn::Xor(value, hn::ShiftRight<31>(value));
}

// By hand: the compiler's way from 16-bit offsets to 64-bit bits is four times slower.
void bit_places(const HashedOwners& hashed, std::uint32_t first,
                const std::uint16_t* HWY_RESTRICT offsets, std::size_t count,
                const BitPlaces& places) {
  constexpr int kWordShift = std::countr_zero(kBitWords);
  const hn::CappedTag<std::uint64_t, 8> tag;
  const hn::Rebind<std::uint32_t, decltype(tag)> half_tag;
  const hn::Rebind<std::uint16_t, decltype(tag)> offset_tag;
  const auto n = hn::Set(tag, hashed.num_owners), one = hn::Set(tag, 1);
  const std::uint32_t largest = ~std::uint32_t{0};  // has the quotient or one less for n = 1 too
  const auto reciprocal =
      hn::Set(tag, std::min<std::uint64_t>(largest, (std::uint64_t{1} << 32) / hashed.num_owners));
  const auto seed = hn::Set(tag, hashed.seed), start = hn::Set(tag, first);
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    const auto offset = hn::PromoteTo(half_tag, hn::LoadU(offset_tag, offsets + i));
    const auto unit = start + hn::PromoteTo(tag, offset);
    auto group = hn::ShiftRight<32>(product_of_lows(unit, reciprocal));
    auto rest = unit - product_of_lows(group, n);
    const auto right = hn::Lt(rest, n);
    group = hn::IfThenElse(right, group, group + one);
    rest = hn::IfThenElse(right, rest, rest - n);
    const auto mixed = mix_here(group + seed);
    const auto low = hn::ShiftRight<32>(product_of_lows(mixed, n));
    const auto high = product_of_lows(hn::ShiftRight<32>(mixed), n);
    const auto sum = rest + hn::ShiftRight<32>(high + low);
    const auto owner = hn::IfThenElse(hn::Lt(sum, n), sum, sum - n);
    const auto word = hn::And(hn::ShiftRight<6>(group), hn::Set(tag, kBitWords - 1));
    hn::StoreU(hn::TruncateTo(half_tag, owner), half_tag, places.owners + i);
    hn::StoreU(hn::TruncateTo(half_tag, hn::ShiftLeft<kWordShift>(owner) + word), half_tag,
               places.words + i);
    hn::StoreU(one << hn::And(group, hn::Set(tag, 63)), tag, places.bits + i);
  }
}

// Without a branch on values.
std::size_t find_offsets(const float* values, std::size_t count,
                         std::uint16_t* HWY_RESTRICT offsets) {
  const hn::CappedTag<std::uint16_t, 32> tag;
  const hn::CappedTag<std::uint32_t, 16> value_tag;
  const std::size_t lanes = hn::Lanes(tag), half = hn::Lanes(value_tag);
  constexpr std::size_t kAhead = 2048;
  const auto some = [&](std::size_t at) {
    const auto bits = hn::LoadU(value_tag, reinterpret_cast<const std::uint32_t*>(values) + at);
    std::uint8_t mask[8] = {};
    hn::StoreMaskBits(value_tag, hn::Ne(hn::ShiftLeft<1>(bits), hn::Zero(value_tag)), mask);
    return std::uint64_t{mask[0]} | std::uint64_t{mask[1]} << 8;
  };
  auto here = hn::Iota(tag, 0);
  std::size_t end = 0, at = 0;
  for (; at + lanes <= count; at += lanes) {
    for (std::size_t line = 0; line < lanes; line += 16) {
      __builtin_prefetch(values + at + line + kAhead);  // may be after the end: no access
    }
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < lanes; i += half) found |= some(at + i) << i;
    const auto mask_bytes = std::bit_cast<std::array<std::uint8_t, 8>>(found);
    hn::StoreU(hn::Compress(here, hn::LoadMaskBits(tag, mask_bytes.data())), tag, offsets + end);
    here = hn::Add(here, hn::Set(tag, static_cast<std::uint16_t>(lanes)));
    end += hwy::PopCount(found);
  }
  for (; at < count; ++at) {
    offsets[end] = static_cast<std::uint16_t>(at);
    end += values[at] != 0.0f;
  }
  return end;
}

// Without a branch on single values; runs of 64 zeroes are passed over.
std::size_t find(const float* values, std::size_t count, std::uint32_t first,
                 std::uint32_t* HWY_RESTRICT units, float* HWY_RESTRICT found) {
  const hn::CappedTag<std::uint32_t, 16> tag;
  const hn::RebindToFloat<decltype(tag)> float_tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto zero = hn::Zero(tag);
  const auto lane_numbers = hn::Iota(tag, 0);  // here once: compilers build it lane by lane
  constexpr std::size_t kRun = 64, kAhead = 1024;
  std::size_t end = 0, at = 0;
  for (; at + kRun <= count; at += kRun) {
    for (std::size_t line = 0; line < kRun; line += 16) {
      __builtin_prefetch(values + at + line + kAhead, 0, 2);  // may be after the end: no access
    }
    auto any = zero;
    for (std::size_t i = 0; i < kRun; i += lanes) {
      any = hn::Or(any, hn::BitCast(tag, hn::LoadU(float_tag, values + at + i)));
    }
    if (hn::AllTrue(tag, hn::Eq(hn::ShiftLeft<1>(any), zero))) continue;
    for (std::size_t i = 0; i < kRun; i += lanes) {
      const auto bits = hn::BitCast(tag, hn::LoadU(float_tag, values + at + i));
      const auto some = hn::Ne(hn::ShiftLeft<1>(bits), zero);
      const auto here =
          hn::Add(lane_numbers, hn::Set(tag, first + static_cast<std::uint32_t>(at + i)));
      hn::StoreU(hn::Compress(here, some), tag, units + end);
      hn::StoreU(hn::Compress(hn::BitCast(float_tag, bits), hn::RebindMask(float_tag, some)),
                 float_tag, found + end);
      end += hn::CountTrue(tag, some);
    }
  }
  for (; at < count; ++at) {
    units[end] = first + static_cast<std::uint32_t>(at);
    found[end] = values[at];
    end += values[at] != 0.0f;
  }
  return end;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {
HWY_EXPORT(places);
HWY_EXPORT(units);
HWY_EXPORT(find);
HWY_EXPORT(bit_places);
HWY_EXPORT(find_offsets);

void places_of(const HashedOwners& hashed, const std::uint32_t* units, std::size_t count,
               std::uint32_t* owners, std::uint32_t* locals) {
  HWY_DYNAMIC_DISPATCH(places)(hashed, units, count, owners, locals);
}

void units_of(const HashedOwners& hashed, std::uint32_t owner, const std::uint32_t* locals,
              std::size_t count, std::uint32_t* units) {
  HWY_DYNAMIC_DISPATCH(units)(hashed, owner, locals, count, units);
}

std::size_t find_values(const float* values, std::size_t count, std::uint32_t first,
                        std::uint32_t* units, float* found) {
  return HWY_DYNAMIC_DISPATCH(find)(values, count, first, units, found);
}

std::size_t find_offsets(const float* values, std::size_t count, std::uint16_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find_offsets)(values, count, offsets);
}

void bit_places_of(const HashedOwners& hashed, std::uint32_t first, const std::uint16_t* offsets,
                   std::size_t count, const BitPlaces& places) {
  HWY_DYNAMIC_DISPATCH(bit_places)(hashed, first, offsets, count, places);
}

}  // namespace tandem::sparse
#endif  // HWY_ONCE
