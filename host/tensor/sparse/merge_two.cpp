// SPDX-License-Identifier: Apache-2.0
//
// merge_two(): at every step both heads are read, the smaller index is written, and each head that
// has it adds its value, the other the value that changes nothing (-0.0 for a sum of floats).
#include <algorithm>
#include <bit>
#include <type_traits>

#include "tensor/sparse/merge_windows.h"

namespace tandem::sparse {
namespace {

// `value` where take is 1, `other` where it is 0; the compiler makes branches of a plain choice.
template <typename T>
T choose(T value, T other, std::uint32_t take) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits mask = Bits{0} - Bits{take};
  return std::bit_cast<T>((std::bit_cast<Bits>(value) & mask) |
                          (std::bit_cast<Bits>(other) & ~mask));
}

template <bool kMax, typename I, typename T>
std::size_t merge_typed(const SparseVector& first, const SparseVector& second, I* indices,
                        T* values) {
  constexpr Reduction kReduction = kMax ? Reduction::kMax : Reduction::kSum;
  constexpr T kNone = neutral_of<T>(kReduction);
  const I* a = first.indices<I>().data();
  const I* b = second.indices<I>().data();
  const I* const a_end = a + first.num_entries();
  const I* const b_end = b + second.num_entries();
  const T* a_value = first.values<T>().data();
  const T* b_value = second.values<T>().data();
  std::size_t count = 0;
  while (a != a_end && b != b_end) {
    const I from_a = *a, from_b = *b;
    const std::uint32_t take_a = from_a <= from_b, take_b = from_b <= from_a;
    indices[count] = std::min(from_a, from_b);
    values[count++] =
        reduce_values(kReduction, choose(*a_value, kNone, take_a), choose(*b_value, kNone, take_b));
    a += take_a;
    a_value += take_a;
    b += take_b;
    b_value += take_b;
  }
  const auto rest = [&](const I* index, const I* end, const T* value) {
    std::copy_n(value, end - index, values + count);
    count = static_cast<std::size_t>(std::copy(index, end, indices + count) - indices);
  };
  rest(a, a_end, a_value);
  rest(b, b_end, b_value);
  return count;
}

}  // namespace

SparseVector merge_two(const SparseVector& first, const SparseVector& second, Reduction reduction) {
  SparseVector out(first.domain(), first.type());
  out.resize(first.num_entries() + second.num_entries());
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    I* indices = out.indices<I>().data();
    T* values = out.values<T>().data();
    out.resize(reduction == Reduction::kMax ? merge_typed<true>(first, second, indices, values)
                                            : merge_typed<false>(first, second, indices, values));
  });
  return out;
}

}  // namespace tandem::sparse
