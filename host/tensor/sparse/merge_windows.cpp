// SPDX-License-Identifier: Apache-2.0
//
// merge_by_windows() for AVX-512, AVX2 and the baseline, chosen at run time. A sum starts at -0.0,
// the only value x with x + y = y for every y, so the first part needs no branch. Windows with few
// entries find their words by a second bitmap over the words of the bitmap. Dense words are packed
// by compressing stores, which write whole vectors; the output therefore has the room of one vector
// at its end.
#include "tensor/sparse/merge_windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/sparse/merge_windows.cpp"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kWords = kWindowUnits / 64;
constexpr std::size_t kRoom = 64;  // entries after the last that may be written

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
      : start_(neutral_of<T>(reduction)), sums_(kWindowUnits, start_), bits_(kWords) {
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
      std::size_t scattered = 0;
      for (auto& slice : slices_) {
        const I* const begin = slice.index;
        scatter<kMax>(base, slice);
        scattered += static_cast<std::size_t>(slice.index - begin);
        ended |= slice.index == slice.end;
      }
      count = pack(base, scattered, indices, values, count);
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

  // Packs the window that starts at `base` after the first `count` entries and clears it.
  HWY_INLINE std::size_t pack(I base, std::size_t scattered, I* indices, T* values,
                              std::size_t count) {
    if (scattered > kWindowUnits / kSparse) {
      for (std::size_t word = 0; word < kWords; ++word) {
        count = pack_dense(bits_[word], base + static_cast<I>(word * 64), &sums_[word * 64],
                           indices, values, count);
      }
      std::fill(bits_.begin(), bits_.end(), 0);
      return count;
    }
    const std::size_t end = scattered < kWords / 2 ? find_units<2>(base, indices, count)
                                                   : find_units<6>(base, indices, count);
    for (; count < end; ++count) {
      T& sum = sums_[indices[count] - base];
      values[count] = sum;
      sum = start_;
    }
    return count;
  }

  // Writes the window's units after the first `count` indices and clears the bitmap; returns their
  // end. kStep: the expected maximum of bits in a word.
  template <std::size_t kStep>
  HWY_INLINE std::size_t find_units(I base, I* indices, std::size_t count) {
    std::uint32_t words[kWords + kRoom];
    const std::size_t num_words = find_words(words);
    for (std::size_t i = 0; i < num_words; ++i) {
      const std::uint32_t word = words[i];
      count += positions<kStep>(bits_[word], base + static_cast<I>(word * 64), indices + count);
      bits_[word] = 0;
    }
    return count;
  }

  // Writes the words of the bitmap that have a bit to `words`; returns how many.
  HWY_INLINE std::size_t find_words(std::uint32_t* words) const {
    const hn::CappedTag<std::uint64_t, 8> tag;
    std::size_t count = 0;
    for (std::size_t first = 0; first < kWords; first += 64) {
      std::uint64_t some = 0;
      for (std::size_t word = 0; word < 64; word += hn::Lanes(tag)) {
        const auto lanes = hn::LoadU(tag, bits_.data() + first + word);
        std::uint8_t mask[8] = {};
        hn::StoreMaskBits(tag, hn::Ne(lanes, hn::Zero(tag)), mask);
        some |= std::uint64_t{mask[0]} << word;
      }
      count += positions<8>(some, static_cast<std::uint32_t>(first), words + count);
    }
    return count;
  }

  // Writes first + the positions of the bits, in steps of kStep without a branch on their number.
  // Overwrites up to kStep - 1 places after them.
  template <std::size_t kStep, typename Index>
  static HWY_INLINE std::size_t positions(std::uint64_t bits, Index first, Index* to) {
    const std::size_t count = hwy::PopCount(bits);
    for (std::size_t done = 0; done < count; done += kStep) {
      for (std::size_t i = 0; i < kStep; ++i) {
        to[done + i] = first + static_cast<Index>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | kTop));
        bits &= bits - 1;
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
      // Not a compressing store, which is slow on some CPUs.
      const auto units = hn::Add(hn::LoadU(index_tag, kLaneNumbers),
                                 hn::Set(index_tag, first + static_cast<I>(lane)));
      const auto present = hn::LoadMaskBits(index_tag, mask_bytes.data());
      hn::StoreU(hn::Compress(units, present), index_tag, indices + count);
      hn::StoreU(hn::Compress(hn::LoadU(value_tag, sums + lane),
                              hn::LoadMaskBits(value_tag, mask_bytes.data())),
                 value_tag, values + count);
      hn::StoreU(hn::Set(value_tag, start_), value_tag, sums + lane);
      count += hwy::PopCount(some & ((std::uint64_t{2} << (lanes - 1)) - 1));
    }
    return count;
  }

  static constexpr I kLaneNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static constexpr std::size_t kSparse = 20;  // units per entry from which words are looked for
  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

  T start_;
  std::vector<T> sums_;              // [kWindowUnits], start_ between windows
  std::vector<std::uint64_t> bits_;  // [kWords], 0 between windows
  std::vector<Slice<I, T>> slices_;  // the rest of the parts, in their order
};

SparseVector merge(std::span<const SparseVector> parts, Reduction reduction) {
  SparseVector out(parts.front().domain(), parts.front().type());
  std::size_t total = 0;
  for (const SparseVector& part : parts) total += part.num_entries();
  out.resize(total + kRoom);
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
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::sparse {
HWY_EXPORT(merge);

SparseVector merge_by_windows(std::span<const SparseVector> parts, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(merge)(parts, reduction);
}

}  // namespace tandem::sparse
#endif  // HWY_ONCE
