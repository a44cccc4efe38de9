// SPDX-License-Identifier: Apache-2.0
//
// Curve: a space-filling order of a tensor's cells, for any order and unequal mode sizes.
//
// A key is the position of a cell on the curve. Morton interleaves the bits of the indices, highest
// first; a mode takes part in as many levels as it has bits. Hilbert is the compact Hilbert index
// (Hamilton, Rau-Chaplin, "Compact Hilbert indices", IPL 105(5), 2008): the order of the Hilbert
// curve of the enclosing cube, with only the bits that the modes have. In a cube whose size is a
// power of two, neighbours on the curve are neighbours in space. Keys have bits() bits, the sum
// over the modes. Cost: Morton a few operations per mode (bit_spread.h), Hilbert some tens per
// level. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/bit_spread.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

enum class CurveKind : std::uint8_t { kMorton, kHilbert };

class Curve {
 public:
  // Throws Error if the modes have more than 64 bits together.
  Curve(CurveKind kind, std::span<const std::uint64_t> sizes);

  CurveKind kind() const { return kind_; }
  int bits() const { return bits_; }
  std::size_t order() const { return mode_bits_.size(); }

  // [order] each index below its mode's size.
  std::uint64_t key_of(std::span<const std::uint64_t> index) const;
  void index_of(std::uint64_t key, std::span<std::uint64_t> index) const;

  // Morton: adds a mode's bits to the keys of entries first .. first + keys.size().
  void add_mode_keys(std::size_t mode, std::size_t first, std::span<std::uint64_t> keys,
                     const IndexColumn& column) const;

 private:
  void spread_modes();
  std::uint64_t hilbert_key(std::span<const std::uint64_t> index) const;
  void hilbert_index(std::uint64_t key, std::span<std::uint64_t> index) const;

  CurveKind kind_;
  int bits_ = 0, levels_ = 0;
  std::vector<int> mode_bits_;              // [order]
  std::vector<BitSpread> spreads_;          // [order] of Morton: the key's bits of each mode
  std::array<std::uint32_t, 64> taking_{};  // [level] bit m: mode m has a bit at this level
};

// Computes the keys of all entries.
RawVector<std::uint64_t> curve_keys(const CooTensor& tensor, const Curve& curve, ThreadPool& pool);

// A tensor in the order of a curve: ascending keys, each only once.
struct LinearTensor {
  std::vector<std::uint64_t> sizes;
  CurveKind kind = CurveKind::kMorton;
  RawVector<std::uint64_t> keys;  // [num_entries]
  RawVector<double> values;       // [num_entries]

  std::size_t size_bytes() const { return keys.size() * 8 + values.size() * 8; }
};

// Sums duplicates. Throws the errors of Curve.
LinearTensor to_linear(CooTensor tensor, CurveKind kind, ThreadPool& pool);
// Returns the entries in the order of the curve.
CooTensor to_coo(const LinearTensor& linear, ThreadPool& pool);

}  // namespace tandem::sparse
