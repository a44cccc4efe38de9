// SPDX-License-Identifier: Apache-2.0
//
// Sorts (key, position) and gathers the entries.
#include "tensor/sparse/formats/entry_order.h"

#include <algorithm>
#include <vector>

#include "tensor/sparse/formats/coordinate_keys.h"
#include "tensor/sparse/formats/curve.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

bool is_strictly_ascending(const RawVector<std::uint64_t>& keys) {
  return std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end();
}

CoordinateKeys keys_in(const CooTensor& tensor, EntryOrder order, ThreadPool& pool) {
  if (order == EntryOrder::kLexicographic) {
    return coordinate_keys(tensor, modes_without(tensor.order(), {}), pool);
  }
  const Curve curve(order == EntryOrder::kMorton ? CurveKind::kMorton : CurveKind::kHilbert,
                    tensor.sizes);
  return {curve_keys(tensor, curve, pool), curve.bits()};
}

}  // namespace

CooTensor gathered(const CooTensor& tensor, std::span<const std::uint64_t> positions,
                   ThreadPool& pool) {
  CooTensor result(tensor.sizes);
  result.resize(positions.size());
  for_parts(positions.size(), pool, [&](std::size_t begin, std::size_t end) {
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
      tensor.indices[mode].visit([&](auto indices) {
        for (std::size_t i = begin; i < end; ++i) {
          result.indices[mode].set(i, indices[positions[i]]);
        }
      });
    }
    for (std::size_t i = begin; i < end; ++i) result.values[i] = tensor.values[positions[i]];
  });
  return result;
}

void sum_duplicates(CooTensor& tensor, ThreadPool& pool) {
  const CoordinateKeys keys = keys_in(tensor, EntryOrder::kLexicographic, pool);
  if (is_strictly_ascending(keys.keys)) return;
  const RawVector<KeyedPosition> records = sorted_positions(keys.keys, keys.bits, pool);
  RawVector<std::uint64_t> firsts;
  RawVector<double> sums;
  firsts.reserve(records.size());
  sums.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double value = tensor.values[records[i].position];
    if (i > 0 && records[i].key == records[i - 1].key) {
      sums.back() += value;
    } else {
      firsts.push_back(records[i].position);
      sums.push_back(value);
    }
  }
  tensor = gathered(tensor, firsts, pool);
  tensor.values = std::move(sums);
}

void sort_entries(CooTensor& tensor, EntryOrder order, ThreadPool& pool) {
  const CoordinateKeys keys = keys_in(tensor, order, pool);
  const RawVector<KeyedPosition> records = sorted_positions(keys.keys, keys.bits, pool);
  RawVector<std::uint64_t> positions(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) positions[i] = records[i].position;
  tensor = gathered(tensor, positions, pool);
}

}  // namespace tandem::sparse
