// SPDX-License-Identifier: Apache-2.0
//
// merge_by_keys(): keys are index << half | position, so their order is that of (index, part,
// entry), and any two runs may be merged. Narrow keys have 64 bits, wide ones or those of more than
// 2^32 entries 128.
#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/sparse/merge_windows.h"

namespace tandem::sparse {
namespace {

// Branches depend only on which run ends first; the compiler makes branches of a plain choice.
template <typename Key>
Key* merge_runs(const Key* a, const Key* a_end, const Key* b, const Key* b_end, Key* to) {
  while (a != a_end && b != b_end) {
    const Key first = *a, second = *b;
    const auto from_a = static_cast<std::size_t>(first < second);
    *to++ = second ^ ((first ^ second) & (Key{0} - Key{from_a}));
    a += from_a;
    b += 1 - from_a;
  }
  to = std::copy(a, a_end, to);
  return std::copy(b, b_end, to);
}

// Merges the runs that end at `ends` into one; ping-pong between two buffers.
template <typename Key>
RawVector<Key> merge_all(RawVector<Key> keys, std::vector<std::size_t> ends) {
  RawVector<Key> other(keys.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t middle = ends[run];
      const std::size_t end = run + 1 < ends.size() ? ends[run + 1] : middle;
      merge_runs(keys.data() + begin, keys.data() + middle, keys.data() + middle, keys.data() + end,
                 other.data() + begin);
      merged.push_back(begin = end);
    }
    std::swap(keys, other);
    ends = std::move(merged);
  }
  return keys;
}

// Finds the row of a position in the sequence of all parts.
template <typename T>
class PartRows {
 public:
  explicit PartRows(std::span<const SparseVector> parts) : width_(parts.front().domain().width) {
    std::size_t begin = 0;
    for (const SparseVector& part : parts) {
      begins_.push_back(begin);
      rows_.push_back(part.values<T>().data());
      begin += part.num_entries();
    }
  }

  const T* row(std::size_t position) const {
    // Branch-free halving; begins_[part] <= position < begins_[part + 1], of equal ones the last.
    std::size_t part = 0;
    for (std::size_t count = begins_.size(); count > 1;) {
      const std::size_t half = count / 2;
      part += begins_[part + half] <= position ? half : 0;
      count -= half;
    }
    return rows_[part] + (position - begins_[part]) * width_;
  }

 private:
  std::size_t width_;
  std::vector<std::size_t> begins_;
  std::vector<const T*> rows_;
};

template <typename Key, int kHalf, typename I, typename T>
void merge_typed(std::span<const SparseVector> parts, Reduction reduction, SparseVector& out) {
  RawVector<Key> keys(out.num_entries());
  std::vector<std::size_t> ends;
  std::size_t position = 0;
  for (const SparseVector& part : parts) {
    for (const I index : part.indices<I>()) {
      keys[position] = static_cast<Key>(index) << kHalf | static_cast<Key>(position);
      ++position;
    }
    if (part.num_entries() > 0) ends.push_back(position);
  }
  keys = merge_all(std::move(keys), std::move(ends));

  const PartRows<T> rows(parts);
  const std::size_t width = out.domain().width;
  I* indices = out.indices<I>().data();
  T* values = out.values<T>().data();
  std::size_t count = 0;
  for (const Key key : keys) {
    const auto index = static_cast<I>(key >> kHalf);
    const T* row = rows.row(static_cast<std::size_t>(key & ((Key{1} << kHalf) - 1)));
    if (count == 0 || indices[count - 1] != index) {
      indices[count] = index;
      std::copy_n(row, width, values + count++ * width);
      continue;
    }
    T* sum = values + (count - 1) * width;
    for (std::size_t i = 0; i < width; ++i) sum[i] = reduce_values(reduction, sum[i], row[i]);
  }
  out.resize(count);
}

}  // namespace

SparseVector merge_by_keys(std::span<const SparseVector> parts, Reduction reduction) {
  SparseVector out(parts.front().domain(), parts.front().type());
  std::size_t total = 0;
  for (const SparseVector& part : parts) total += part.num_entries();
  out.resize(total);
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    if (sizeof(I) == 8 || total > (std::uint64_t{1} << 32)) {
      merge_typed<unsigned __int128, 64, I, T>(parts, reduction, out);
    } else {
      merge_typed<std::uint64_t, 32, I, T>(parts, reduction, out);
    }
  });
  return out;
}

}  // namespace tandem::sparse
