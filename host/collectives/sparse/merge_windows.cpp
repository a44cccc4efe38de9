// SPDX-License-Identifier: Apache-2.0
//
// merge_by_windows() for AVX-512, AVX2 and the baseline, chosen at run time. A sum starts at -0.0,
// the one value that addition leaves every other as it is, so the first part needs no branch.
// Windows with few entries find their words by a bitmap of the bitmap; dense words are packed by
// compressing stores, which write whole vectors: the output has a vector's room at its end.
#include "collectives/sparse/merge_windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/sparse/merge_windows.cpp"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <vector>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::collectives {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kWords = kWindowUnits / 64;
constexpr std::size_t kSlack = 64;  // entries

template <typename T>
constexpr T start_of(Reduction reduction) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction != Reduction::kMax) return T{-0.0};
  }
  return identity_of<T>(reduction);
}

template <typename I, typename T>
struct Slice {
  const I* index;
  const I* end;
  const T* value;
};

template <typename I, typename T>
class Windows {
 public:
  Windows(std::span<const SparseVector> parts, Reduction reduction)
      : start_(start_of<T>(reduction)), sums_(kWindowUnits, start_), bits_(kWords) {
    for (const SparseVector& part : parts) {
      const auto indices = part.indices<I>();
      if (indices.empty()) continue;
      slices_.push_back({indices.data(), indices.data() + indices.size(), part.values<T>().data()});
    }
  }

  template <bool kMax>
  std::size_t merge(I* indices, T* values) {
    std::size_t count = 0;
    while (!slices_.empty()) {
      I base = *slices_.front().index;
      for (const auto& slice : slices_) base = std::min(base, *slice.index);
      base &= ~static_cast<I>(kWindowUnits - 1);
      bool ended = false;
      for (auto& slice : slices_) {
        scatter<kMax>(base, slice);
        ended |= slice.index == slice.end;
      }
      count = pack(base, indices, values, count);
      if (ended) std::erase_if(slices_, [](const auto& slice) { return slice.index == slice.end; });
    }
    return count;
  }

 private:
  template <bool kMax>
  HWY_INLINE void scatter(I base, Slice<I, T>& slice) {
    const I* index = slice.index;
    const I* const end = slice.end;
    const T* value = slice.value;
    T* const sums = sums_.data();
    std::uint64_t* const bits = bits_.data();
    for (; index != end; ++index, ++value) {
      const I at = *index - base;
      if (at >= kWindowUnits) break;
      sums[at] = reduce_values(kMax ? Reduction::kMax : Reduction::kSum, sums[at], *value);
      bits[at / 64] |= std::uint64_t{1} << (at % 64);
    }
    slice.index = index;
    slice.value = value;
  }

  HWY_INLINE std::size_t pack(I base, I* indices, T* values, std::size_t count) {
    for (std::size_t word = 0; word < kWords; ++word) {
      std::uint64_t bits = bits_[word];
      if (bits == 0) continue;
      bits_[word] = 0;
      const I first = base + static_cast<I>(word * 64);
      T* sums = sums_.data() + word * 64;
      if ((bits & (bits - 1) & (bits - 2)) != 0 && hwy::PopCount(bits) > kFew) {
        count = pack_dense(bits, first, sums, indices, values, count);
        continue;
      }
      for (; bits != 0; bits &= bits - 1, ++count) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
        indices[count] = first + static_cast<I>(bit);
        values[count] = sums[bit];
        sums[bit] = start_;
      }
    }
    return count;
  }

  HWY_INLINE std::size_t pack_dense(std::uint64_t bits, I first, T* sums, I* indices, T* values,
                                    std::size_t count) {
    // Indices and values side by side need vectors of equally many lanes.
    const hn::CappedTag<T, HWY_MAX_BYTES / std::max(sizeof(I), sizeof(T))> value_tag;
    const hn::Rebind<I, decltype(value_tag)> index_tag;
    const std::size_t lanes = hn::Lanes(value_tag);
    for (std::size_t lane = 0; lane < 64; lane += lanes) {
      const std::uint64_t some = bits >> lane;
      const auto mask_bytes = std::bit_cast<std::array<std::uint8_t, 8>>(some);
      hn::CompressBitsStore(hn::Iota(index_tag, first + static_cast<I>(lane)), mask_bytes.data(),
                            index_tag, indices + count);
      hn::CompressBitsStore(hn::LoadU(value_tag, sums + lane), mask_bytes.data(), value_tag,
                            values + count);
      hn::StoreU(hn::Set(value_tag, start_), value_tag, sums + lane);
      count += hwy::PopCount(some & ((std::uint64_t{2} << (lanes - 1)) - 1));
    }
    return count;
  }

  static constexpr std::size_t kFew = 8;

  T start_;
  std::vector<T> sums_;              // [kWindowUnits], start_ between windows
  std::vector<std::uint64_t> bits_;  // [kWords], 0 between windows
  std::vector<Slice<I, T>> slices_;  // what is left of the parts, in their order
};

SparseVector merge(std::span<const SparseVector> parts, Reduction reduction) {
  SparseVector out(parts.front().domain(), parts.front().type());
  std::size_t total = 0;
  for (const SparseVector& part : parts) total += part.num_entries();
  out.resize(total + kSlack);
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    Windows<I, T> windows(parts, reduction);
    I* indices = out.indices<I>().data();
    T* values = out.values<T>().data();
    out.resize(reduction == Reduction::kMax ? windows.template merge<true>(indices, values)
                                            : windows.template merge<false>(indices, values));
  });
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::collectives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::collectives {
HWY_EXPORT(merge);

SparseVector merge_by_windows(std::span<const SparseVector> parts, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(merge)(parts, reduction);
}

}  // namespace tandem::collectives
#endif  // HWY_ONCE
