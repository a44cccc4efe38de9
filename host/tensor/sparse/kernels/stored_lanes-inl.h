// SPDX-License-Identifier: Apache-2.0
//
// Vectors of stored values in the type of the arithmetic, and the dot product of a row's entries.
//
// Included once per instruction set, as Highway's -inl.h files are. Threads: any.
#if defined(TANDEM_STORED_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_STORED_LANES_INL_H_
#undef TANDEM_STORED_LANES_INL_H_
#else
#define TANDEM_STORED_LANES_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "tensor/sparse/kernels/stored_value.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Stored>
using StoredBits = std::conditional_t<std::is_same_v<Stored, Bf16>, std::uint16_t, Stored>;

template <typename Stored>
HWY_INLINE const StoredBits<Stored>* stored_bits(const Stored* values) {
  return reinterpret_cast<const StoredBits<Stored>*>(values);
}

template <class Tag, class Vector>
HWY_INLINE hn::Vec<Tag> widened_lanes(Tag tag, Vector stored) {
  if constexpr (std::is_same_v<hn::TFromV<Vector>, std::uint16_t>) {
    const hn::RebindToUnsigned<Tag> wide;
    return hn::BitCast(tag, hn::ShiftLeft<16>(hn::PromoteTo(wide, stored)));
  } else {
    return stored;
  }
}

// x at the lanes' indices.
template <class Tag, class Narrow>
HWY_INLINE hn::Vec<Tag> gathered_at(Tag tag, const hn::TFromD<Tag>* x, Narrow indices) {
  if constexpr (sizeof(hn::TFromD<Tag>) == 8) {
    const hn::RebindToSigned<Tag> wide;
    return hn::GatherIndex(tag, x, hn::PromoteTo(wide, indices));
  } else {
    return hn::GatherIndex(tag, x, indices);
  }
}

// The sum of value * x[index]: lanes take entries, then the lanes are added, then the rest.
template <typename Stored, typename Value>
HWY_INLINE Value dot_of_entries(const std::int32_t* indices, const Stored* values,
                                std::size_t num_entries, const Value* x) {
  const hn::ScalableTag<Value> tag;
  const hn::Rebind<std::int32_t, decltype(tag)> narrow;
  const hn::Rebind<StoredBits<Stored>, decltype(tag)> stored;
  const std::size_t lanes = hn::Lanes(tag);
  auto sums = hn::Zero(tag);
  std::size_t e = 0;
  for (; e + lanes <= num_entries; e += lanes) {
    const auto weights = widened_lanes(tag, hn::LoadU(stored, stored_bits(values + e)));
    sums = hn::MulAdd(weights, gathered_at(tag, x, hn::LoadU(narrow, indices + e)), sums);
  }
  Value sum = hn::GetLane(hn::SumOfLanes(tag, sums));
  for (; e < num_entries; ++e) sum += widened(values[e]) * x[indices[e]];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::sparse
HWY_AFTER_NAMESPACE();

#endif
