// SPDX-License-Identifier: Apache-2.0
//
// Levels go from the highest bit down. At each level bit m of a small number belongs to mode m,
// also in the rotations of the Hilbert curve.
#include "tensor/sparse/formats/curve.h"

#include <algorithm>
#include <bit>
#include <string>

#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

using Bits = std::uint32_t;

// Rotations of the lowest `width` bits.
Bits rotate_right(Bits bits, int by, int width) {
  const Bits mask = width == 32 ? ~Bits{0} : (Bits{1} << width) - 1;
  by %= width;
  if (by == 0) return bits & mask;
  return ((bits >> by) | (bits << (width - by))) & mask;
}
Bits rotate_left(Bits bits, int by, int width) {
  return rotate_right(bits, width - by % width, width);
}

Bits gray_of(Bits rank) { return rank ^ (rank >> 1); }

Bits rank_of_gray(Bits gray) {
  for (int shift = 1; shift < 32; shift *= 2) gray ^= gray >> shift;
  return gray;
}

// Where the curve enters a cell and how it lies there.
struct Orientation {
  Bits entry = 0;
  int direction = 0;

  // Of the part with this rank.
  void enter(Bits rank, int width) {
    const Bits inner = rank == 0 ? 0 : gray_of((rank - 1) & ~Bits{1});
    int turn = 0;
    if (rank != 0) turn = std::countr_one(rank % 2 == 0 ? rank - 1 : rank) % width;
    entry ^= rotate_left(inner, direction + 1, width);
    direction = (direction + turn + 1) % width;
  }
};

// The bits of `rank` at places of `mask`, the highest first.
std::uint64_t packed(Bits rank, Bits mask, int width, std::uint64_t key) {
  for (int place = width - 1; place >= 0; --place) {
    if ((mask >> place & 1) != 0) key = key << 1 | (rank >> place & 1);
  }
  return key;
}

// The rank of which `bits` are the packed bits at places of `mask`; `fixed` are the other bits of
// its Gray code.
Bits unpacked(std::uint64_t bits, Bits mask, Bits fixed, int width) {
  Bits rank = 0;
  int left = std::popcount(mask);
  for (int place = width - 1; place >= 0; --place) {
    const Bits above = place + 1 < width ? rank >> (place + 1) & 1 : 0;
    Bits bit = 0;
    if ((mask >> place & 1) != 0) {
      bit = static_cast<Bits>(bits >> --left & 1);
    } else {
      bit = (fixed >> place & 1) ^ above;
    }
    rank |= bit << place;
  }
  return rank;
}

// Mode by mode over chunks that stay in the caches.
void morton_keys(const CooTensor& tensor, const Curve& curve, std::size_t begin, std::size_t end,
                 RawVector<std::uint64_t>& keys) {
  constexpr std::size_t kChunk = 2048;
  for (std::size_t first = begin; first < end; first += kChunk) {
    const std::span<std::uint64_t> chunk(keys.data() + first, std::min(kChunk, end - first));
    std::fill(chunk.begin(), chunk.end(), 0);
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
      curve.add_mode_keys(mode, first, chunk, tensor.indices[mode]);
    }
  }
}

}  // namespace

Curve::Curve(CurveKind kind, std::span<const std::uint64_t> sizes) : kind_(kind) {
  for (const std::uint64_t size : sizes) {
    mode_bits_.push_back(index_bits(size));
    bits_ += mode_bits_.back();
    levels_ = std::max(levels_, mode_bits_.back());
  }
  if (bits_ > 64) {
    throw Error("tensor", "a curve supports up to 64 bits of indices, but these modes need " +
                              std::to_string(bits_) + "; use the lexicographic order");
  }
  for (int level = 0; level < levels_; ++level) {
    for (std::size_t mode = 0; mode < order(); ++mode) {
      if (mode_bits_[mode] > level) taking_[static_cast<std::size_t>(level)] |= Bits{1} << mode;
    }
  }
  if (kind_ == CurveKind::kMorton) spread_modes();
}

// From the highest level down, each takes a bit of every mode that has one there.
void Curve::spread_modes() {
  std::vector<std::uint64_t> masks(order());
  int left = bits_;
  for (int level = levels_ - 1; level >= 0; --level) {
    for (std::size_t mode = 0; mode < order(); ++mode) {
      if (mode_bits_[mode] > level) masks[mode] |= std::uint64_t{1} << --left;
    }
  }
  for (const std::uint64_t mask : masks) spreads_.emplace_back(mask);
}

std::uint64_t Curve::key_of(std::span<const std::uint64_t> index) const {
  if (kind_ == CurveKind::kHilbert) return hilbert_key(index);
  std::uint64_t key = 0;
  for (std::size_t mode = 0; mode < order(); ++mode) key |= spreads_[mode](index[mode]);
  return key;
}

void Curve::index_of(std::uint64_t key, std::span<std::uint64_t> index) const {
  if (kind_ == CurveKind::kHilbert) return hilbert_index(key, index);
  for (std::size_t mode = 0; mode < order(); ++mode) index[mode] = spreads_[mode].gathered(key);
}

void Curve::add_mode_keys(std::size_t mode, std::size_t first, std::span<std::uint64_t> keys,
                          const IndexColumn& column) const {
  column.visit([&](auto indices) {
    spreads_[mode].add_to(keys.data(), indices.subspan(first, keys.size()));
  });
}

std::uint64_t Curve::hilbert_key(std::span<const std::uint64_t> index) const {
  const int width = static_cast<int>(order());
  Orientation at;
  std::uint64_t key = 0;
  for (int level = levels_ - 1; level >= 0; --level) {
    Bits bits = 0;
    for (std::size_t mode = 0; mode < order(); ++mode) {
      bits |= static_cast<Bits>(index[mode] >> level & 1) << mode;
    }
    const Bits rank = rank_of_gray(rotate_right(bits ^ at.entry, at.direction + 1, width));
    const Bits mask =
        rotate_right(taking_[static_cast<std::size_t>(level)], at.direction + 1, width);
    key = packed(rank, mask, width, key);
    at.enter(rank, width);
  }
  return key;
}

void Curve::hilbert_index(std::uint64_t key, std::span<std::uint64_t> index) const {
  const int width = static_cast<int>(order());
  std::fill(index.begin(), index.end(), 0);
  Orientation at;
  int left = bits_;
  for (int level = levels_ - 1; level >= 0; --level) {
    const Bits mask =
        rotate_right(taking_[static_cast<std::size_t>(level)], at.direction + 1, width);
    left -= std::popcount(mask);
    const Bits fixed = rotate_right(at.entry, at.direction + 1, width) & ~mask;
    const Bits rank = unpacked(key >> left, mask, fixed, width);
    const Bits bits = rotate_left(gray_of(rank), at.direction + 1, width) ^ at.entry;
    for (std::size_t mode = 0; mode < order(); ++mode) {
      index[mode] |= std::uint64_t{bits >> mode & 1} << level;
    }
    at.enter(rank, width);
  }
}

RawVector<std::uint64_t> curve_keys(const CooTensor& tensor, const Curve& curve, ThreadPool& pool) {
  RawVector<std::uint64_t> keys(tensor.num_entries());
  for_parts(keys.size(), pool, [&](std::size_t begin, std::size_t end) {
    if (curve.kind() == CurveKind::kMorton) return morton_keys(tensor, curve, begin, end, keys);
    std::array<std::uint64_t, kMaxOrder> index;
    for (std::size_t entry = begin; entry < end; ++entry) {
      for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
        index[mode] = tensor.indices[mode][entry];
      }
      keys[entry] = curve.key_of({index.data(), tensor.order()});
    }
  });
  return keys;
}

LinearTensor to_linear(CooTensor tensor, CurveKind kind, ThreadPool& pool) {
  const Curve curve(kind, tensor.sizes);
  sum_duplicates(tensor, pool);
  sort_entries(tensor, kind == CurveKind::kMorton ? EntryOrder::kMorton : EntryOrder::kHilbert,
               pool);
  return {tensor.sizes, kind, curve_keys(tensor, curve, pool), std::move(tensor.values)};
}

CooTensor to_coo(const LinearTensor& linear, ThreadPool& pool) {
  const Curve curve(linear.kind, linear.sizes);
  CooTensor result(linear.sizes);
  result.resize(linear.keys.size());
  for_parts(linear.keys.size(), pool, [&](std::size_t begin, std::size_t end) {
    std::array<std::uint64_t, kMaxOrder> index;
    for (std::size_t entry = begin; entry < end; ++entry) {
      curve.index_of(linear.keys[entry], {index.data(), result.order()});
      for (std::size_t mode = 0; mode < result.order(); ++mode) {
        result.indices[mode].set(entry, index[mode]);
      }
      result.values[entry] = linear.values[entry];
    }
  });
  return result;
}

}  // namespace tandem::sparse
