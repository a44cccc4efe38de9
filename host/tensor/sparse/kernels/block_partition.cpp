// SPDX-License-Identifier: Apache-2.0
//
// Splits by the bits of the keys: entries with equal first bits lie in one box of the tensor.
#include "tensor/sparse/kernels/block_partition.h"

#include <algorithm>

#include "tensor/sparse/formats/curve.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kDistances = std::uint64_t{1} << 16;

using Records = RawVector<KeyedPosition>;

// How far the entries reach in each mode.
struct Extent {
  std::vector<std::uint64_t> least, most;  // [order]

  bool fits() const {
    for (std::size_t mode = 0; mode < least.size(); ++mode) {
      if (most[mode] - least[mode] >= kDistances) return false;
    }
    return true;
  }
  Extent with(const Extent& other) const {
    Extent both = *this;
    for (std::size_t mode = 0; mode < least.size(); ++mode) {
      both.least[mode] = std::min(least[mode], other.least[mode]);
      both.most[mode] = std::max(most[mode], other.most[mode]);
    }
    return both;
  }
};

class BlockSplitter {
 public:
  BlockSplitter(const CooTensor& tensor, const Records& records)
      : tensor_(tensor), records_(records) {}

  // Appends the blocks of [begin, end), whose keys are equal above the lowest `bits`.
  void split(std::size_t begin, std::size_t end, int bits) {
    if (begin == end) return;
    const bool is_small = end - begin <= kMostBlockEntries;
    if (is_small || bits == 0) {
      Extent extent = extent_of(begin, end);
      if (extent.fits()) return take(end, std::move(extent));
    }
    const std::uint64_t bit = std::uint64_t{1} << (bits - 1);
    const auto first = records_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = records_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto middle = std::partition_point(
        first, last, [&](const KeyedPosition& each) { return (each.key & bit) == 0; });
    const auto at = static_cast<std::size_t>(middle - records_.begin());
    split(begin, at, bits - 1);
    split(at, end, bits - 1);
  }

  std::vector<std::size_t> begins{0};
  std::vector<Extent> extents;

 private:
  Extent extent_of(std::size_t begin, std::size_t end) const {
    Extent extent;
    for (std::size_t mode = 0; mode < tensor_.order(); ++mode) {
      tensor_.indices[mode].visit([&](auto indices) {
        std::uint64_t least = ~std::uint64_t{0}, most = 0;
        for (std::size_t i = begin; i < end; ++i) {
          const std::uint64_t index = indices[records_[i].position];
          least = std::min(least, index);
          most = std::max(most, index);
        }
        extent.least.push_back(least);
        extent.most.push_back(most);
      });
    }
    return extent;
  }

  // Adds a block after the last one, or extends the last one.
  void take(std::size_t end, Extent extent) {
    if (!extents.empty() && end - begins[begins.size() - 2] <= kMostBlockEntries) {
      Extent both = extents.back().with(extent);
      if (both.fits()) {
        begins.back() = end;
        extents.back() = std::move(both);
        return;
      }
    }
    begins.push_back(end);
    extents.push_back(std::move(extent));
  }

  const CooTensor& tensor_;
  const Records& records_;
};

}  // namespace

template <typename Value>
BlockPartition<Value> partition_blocks(const CooTensor& tensor, ThreadPool& pool) {
  const Curve curve(CurveKind::kMorton, tensor.sizes);
  const Records records = sorted_positions(curve_keys(tensor, curve, pool), curve.bits(), pool);
  BlockSplitter splitter(tensor, records);
  splitter.split(0, records.size(), curve.bits());
  BlockPartition<Value> result;
  result.sizes = tensor.sizes;
  result.begins = std::move(splitter.begins);
  for (const Extent& extent : splitter.extents) {
    result.bases.insert(result.bases.end(), extent.least.begin(), extent.least.end());
    for (const std::uint64_t most : extent.most) result.ends.push_back(most + 1);
  }
  const std::size_t order = tensor.order();
  result.distances.resize(records.size() * order);
  result.values.resize(records.size());
  pool.run(result.num_blocks(), [&](std::size_t block) {
    const std::size_t begin = result.begins[block], end = result.begins[block + 1];
    for (std::size_t mode = 0; mode < order; ++mode) {
      const std::uint64_t base = result.bases[block * order + mode];
      tensor.indices[mode].visit([&](auto indices) {
        for (std::size_t i = begin; i < end; ++i) {
          result.distances[i * order + mode] =
              static_cast<std::uint16_t>(indices[records[i].position] - base);
        }
      });
    }
    for (std::size_t i = begin; i < end; ++i) {
      result.values[i] = static_cast<Value>(tensor.values[records[i].position]);
    }
  });
  return result;
}

template BlockPartition<float> partition_blocks(const CooTensor&, ThreadPool&);
template BlockPartition<double> partition_blocks(const CooTensor&, ThreadPool&);

}  // namespace tandem::sparse
