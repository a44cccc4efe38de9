// SPDX-License-Identifier: Apache-2.0
//
// For AVX-512, AVX2 and the baseline, chosen at run time. The loops over places are plain and left
// to the compiler's vectoriser: every step is a 32 x 32 -> 64 or a 64-bit product, a shift or a
// choice. Division by num_owners: unit * floor(2^32 / n) >> 32 is the quotient or one less.
#include "collectives/sparse/hashed_places.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/sparse/hashed_places.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::collectives {
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
      __builtin_prefetch(values + at + line + kAhead, 0, 2);  // may lie behind the end: no access
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
}  // namespace tandem::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::collectives {
HWY_EXPORT(places);
HWY_EXPORT(units);
HWY_EXPORT(find);

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

}  // namespace tandem::collectives
#endif  // HWY_ONCE
