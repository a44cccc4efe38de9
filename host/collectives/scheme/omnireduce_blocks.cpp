// SPDX-License-Identifier: Apache-2.0
//
// Streams of a rank's blocks are lists through one array, built backwards.
#include "collectives/scheme/omnireduce_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::collectives {

BlockLayout::BlockLayout(Domain domain, int num_aggregators)
    : domain_(domain),
      num_aggregators_(num_aggregators),
      units_per_block_(std::max<std::uint64_t>(1, 256 / domain.width)),
      num_blocks_(domain.num_units / units_per_block_ +
                  (domain.num_units % units_per_block_ != 0 ? 1 : 0)) {}

UnitRange BlockLayout::units_of(std::uint64_t block) const {
  const std::uint64_t begin = block * units_per_block_;
  return {begin, begin + std::min(units_per_block_, domain_.num_units - begin)};
}

int BlockLayout::max_streams(int num_aggregators) {
  return std::clamp(8192 / num_aggregators, 32, 256);
}

int BlockLayout::num_streams(int aggregator) const {
  return static_cast<int>(std::min<std::uint64_t>(
      blocks_of(aggregator).size(), static_cast<std::uint64_t>(max_streams(num_aggregators_))));
}

int BlockLayout::stream_of(int aggregator, std::uint64_t block) const {
  const auto streams = static_cast<std::uint64_t>(num_streams(aggregator));
  return static_cast<int>((block - blocks_of(aggregator).begin) % streams);
}

bool BlockLayout::follows(int aggregator, int stream, std::uint64_t current,
                          std::uint64_t block) const {
  if (block == kNoBlock) return true;
  const UnitRange range = blocks_of(aggregator);
  return block >= range.begin && block < range.end && stream_of(aggregator, block) == stream &&
         (current == kNoBlock || block > current);
}

OwnBlocks::OwnBlocks(const SparseVector& vector, const BlockLayout& layout)
    : vector_(vector), layout_(layout) {
  visit_types(vector, [&](auto index, auto) {
    const auto indices = vector.indices<decltype(index)>();
    for (std::size_t entry = 0; entry < indices.size(); ++entry) {
      const std::uint64_t block = layout.block_of(indices[entry]);
      if (blocks_.empty() || blocks_.back().number != block) blocks_.push_back({block, entry, 0});
    }
  });
  link();
}

std::uint64_t OwnBlocks::next(int aggregator, int stream) const {
  const std::size_t at =
      heads_[static_cast<std::size_t>(aggregator)][static_cast<std::size_t>(stream)];
  return at == blocks_.size() ? kNoBlock : blocks_[at].number;
}

void OwnBlocks::link() {
  const int num_aggregators = layout_.num_aggregators();
  for (int aggregator = 0; aggregator < num_aggregators; ++aggregator) {
    heads_.emplace_back(static_cast<std::size_t>(layout_.num_streams(aggregator)), blocks_.size());
  }
  int aggregator = num_aggregators - 1;
  for (std::size_t at = blocks_.size(); at-- > 0;) {
    while (blocks_[at].number < layout_.blocks_of(aggregator).begin) --aggregator;
    const int stream = layout_.stream_of(aggregator, blocks_[at].number);
    std::size_t& head =
        heads_[static_cast<std::size_t>(aggregator)][static_cast<std::size_t>(stream)];
    blocks_[at].next_in_stream = std::exchange(head, at);
  }
}

void OwnBlocks::take(int aggregator, int stream, Reduction reduction, DenseVector& scratch) {
  std::size_t& head =
      heads_[static_cast<std::size_t>(aggregator)][static_cast<std::size_t>(stream)];
  const Block& block = blocks_[head];
  const std::size_t end =
      head + 1 < blocks_.size() ? blocks_[head + 1].first_entry : vector_.num_entries();
  const UnitRange units = layout_.units_of(block.number);
  clear_units(scratch, {0, units.size()}, reduction);
  visit_types(vector_, [&](auto index, auto value) {
    using T = decltype(value);
    const std::size_t width = vector_.domain().width;
    const auto indices = vector_.indices<decltype(index)>();
    const T* from = vector_.values<T>().data();
    T* to = scratch.values<T>().data();
    for (std::size_t entry = block.first_entry; entry < end; ++entry) {
      std::copy_n(from + entry * width, width, to + (indices[entry] - units.begin) * width);
    }
  });
  head = block.next_in_stream;
}

void ReducedBlocks::add(std::uint64_t block, const DenseVector& values, std::uint64_t begin) {
  const UnitRange units = layout_.units_of(block);
  const std::size_t width = layout_.domain().width;
  Run run{block, units_.size(), 0};
  visit_type(type_, [&](auto zero) {
    using T = decltype(zero);
    const T absent = identity_of<T>(reduction_);
    const T* from = values.values<T>().data() + begin * width;
    for (std::uint64_t unit = units.begin; unit < units.end; ++unit, from += width) {
      if (std::all_of(from, from + width, [&](T value) { return value == absent; })) continue;
      units_.push_back(unit);
      const std::size_t at = values_.size();
      values_.resize(at + width * sizeof(T));
      std::memcpy(values_.data() + at, from, width * sizeof(T));
    }
  });
  run.count = units_.size() - run.first;
  if (run.count > 0) runs_.push_back(run);
}

SparseVector ReducedBlocks::result() {
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.block < b.block; });
  SparseVector out(layout_.domain(), type_);
  out.resize(units_.size());
  const std::size_t row_bytes = out.row_bytes();
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    const auto indices = out.indices<I>();
    std::byte* to = std::as_writable_bytes(out.values<decltype(value)>()).data();
    std::size_t entry = 0;
    for (const Run& run : runs_) {
      for (std::size_t at = 0; at < run.count; ++at) {
        indices[entry + at] = static_cast<I>(units_[run.first + at]);
      }
      std::memcpy(to + entry * row_bytes, values_.data() + run.first * row_bytes,
                  run.count * row_bytes);
      entry += run.count;
    }
  });
  return out;
}

void clear_units(DenseVector& dense, UnitRange range, Reduction reduction) {
  visit_type(dense.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::size_t width = dense.domain().width;
    const auto values = dense.values<T>().subspan(range.begin * width, range.size() * width);
    std::fill(values.begin(), values.end(), identity_of<T>(reduction));
  });
}

void reduce_units(DenseVector& into, UnitRange range, const DenseVector& from,
                  Reduction reduction) {
  visit_type(into.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::size_t width = into.domain().width;
    const auto sums = into.values<T>().subspan(range.begin * width, range.size() * width);
    const auto values = from.values<T>();
    for (std::size_t at = 0; at < sums.size(); ++at) {
      sums[at] = reduce_values(reduction, sums[at], values[at]);
    }
  });
}

}  // namespace tandem::collectives
