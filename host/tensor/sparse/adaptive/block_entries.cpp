// SPDX-License-Identifier: Apache-2.0
//
// Blocks from entries and back, and the merge of a change.
#include "tensor/sparse/adaptive/block_entries.h"

#include <algorithm>

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kReach = std::uint64_t{1} << 16;

bool fits(const CurveBlock& block) {
  for (std::size_t mode = 0; mode < block.bases.size(); ++mode) {
    if (block.ends[mode] - block.bases[mode] > kReach) return false;
  }
  return true;
}

void find_extent(const CurveEntries& entries, std::size_t begin, std::size_t end,
                 CurveBlock& block) {
  const std::size_t order = block.bases.size();
  for (std::size_t mode = 0; begin < end && mode < order; ++mode) {
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (std::size_t i = begin; i < end; ++i) {
      least = std::min(least, entries.indices[i * order + mode]);
      most = std::max(most, entries.indices[i * order + mode]);
    }
    block.bases[mode] = least;
    block.ends[mode] = most + 1;
  }
}

}  // namespace

void append_blocks(const CurveEntries& entries, std::size_t begin, std::size_t end, KeyRange keys,
                   std::size_t order, std::vector<CurveBlock>& to) {
  CurveBlock block;
  block.first = keys.first;
  block.last = keys.last;
  block.bases.resize(order);
  block.ends.resize(order);
  find_extent(entries, begin, end, block);
  if (!fits(block)) {
    const std::uint64_t middle = keys.first + (keys.last - keys.first) / 2;
    const auto cut =
        std::upper_bound(entries.keys.begin() + static_cast<std::ptrdiff_t>(begin),
                         entries.keys.begin() + static_cast<std::ptrdiff_t>(end), middle);
    const auto at = static_cast<std::size_t>(cut - entries.keys.begin());
    append_blocks(entries, begin, at, {keys.first, middle}, order, to);
    return append_blocks(entries, at, end, {middle + 1, keys.last}, order, to);
  }
  const auto part = [&](const auto& values, std::size_t width) {
    return std::pair(values.begin() + static_cast<std::ptrdiff_t>(begin * width),
                     values.begin() + static_cast<std::ptrdiff_t>(end * width));
  };
  block.keys.assign(part(entries.keys, 1).first, part(entries.keys, 1).second);
  block.values.assign(part(entries.values, 1).first, part(entries.values, 1).second);
  block.distances.resize((end - begin) * order);
  for (std::size_t i = 0; i < block.distances.size(); ++i) {
    block.distances[i] =
        static_cast<std::uint16_t>(entries.indices[begin * order + i] - block.bases[i % order]);
  }
  to.push_back(std::move(block));
}

CurveEntries entries_of(const CurveBlock& block, std::size_t order) {
  CurveEntries entries{
      block.keys, std::vector<std::uint64_t>(block.distances.size()), block.values, {}};
  for (std::size_t i = 0; i < block.distances.size(); ++i) {
    entries.indices[i] = block.bases[i % order] + block.distances[i];
  }
  return entries;
}

void append(const CurveEntries& more, CurveEntries& to) {
  to.keys.insert(to.keys.end(), more.keys.begin(), more.keys.end());
  to.indices.insert(to.indices.end(), more.indices.begin(), more.indices.end());
  to.values.insert(to.values.end(), more.values.begin(), more.values.end());
}

CurveEntries changed(const CurveEntries& old, const CurveEntries& change, std::size_t begin,
                     std::size_t end, std::size_t order) {
  CurveEntries result;
  result.keys.reserve(old.size() + (end - begin));
  result.values.reserve(old.size() + (end - begin));
  result.indices.reserve((old.size() + (end - begin)) * order);
  const auto take = [&](const CurveEntries& from, std::size_t i) {
    result.keys.push_back(from.keys[i]);
    result.values.push_back(from.values[i]);
    const auto at = from.indices.begin() + static_cast<std::ptrdiff_t>(i * order);
    result.indices.insert(result.indices.end(), at, at + static_cast<std::ptrdiff_t>(order));
  };
  std::size_t kept = 0;
  for (std::size_t i = begin; i < end; ++i) {
    while (kept < old.size() && old.keys[kept] < change.keys[i]) take(old, kept++);
    if (kept < old.size() && old.keys[kept] == change.keys[i]) ++kept;
    if (change.removed.empty() || change.removed[i] == 0) take(change, i);
  }
  while (kept < old.size()) take(old, kept++);
  return result;
}

}  // namespace tandem::sparse
