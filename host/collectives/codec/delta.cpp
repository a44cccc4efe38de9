// SPDX-License-Identifier: Apache-2.0
//
// delta: the gap to the index before, minus one, bit-packed; blocks of 128 entries, each a byte
// with the width of its largest gap (0 .. 64) and then its gaps, the first in the lowest bits; the
// last block ends with its last gap's byte. A run of neighbours costs a byte per 128. The expected
// width for a uniform support of density p is sum over k of P(largest gap >= 2^k) = 1 - (1 -
// (1-p)^(2^k))^128.
#include <algorithm>
#include <array>
#include <cmath>

#include "collectives/codec/format.h"

namespace tandem::collectives {
namespace {

constexpr std::size_t kBlock = 128;

std::size_t packed_bytes(std::size_t count, std::uint32_t width) { return (count * width + 7) / 8; }

// Gaps of `indices`, the first against `next`, the least index there can be.
template <typename I>
std::uint32_t gaps_of(std::span<const I> indices, I next, std::array<I, kBlock>& gaps) {
  I all = gaps[0] = indices[0] - next;
  for (std::size_t i = 1; i < indices.size(); ++i) {
    gaps[i] = indices[i] - indices[i - 1] - 1;
    all |= gaps[i];
  }
  return static_cast<std::uint32_t>(std::bit_width(all));
}

template <typename I>
void pack(const I* gaps, std::size_t count, std::uint32_t width, std::byte* to) {
  unsigned __int128 pending = 0;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pending |= static_cast<unsigned __int128>(gaps[i]) << bits;
    bits += width;
    if (bits >= 64) {
      store_unaligned(to, static_cast<std::uint64_t>(pending));
      to += 8;
      pending >>= 64;
      bits -= 64;
    }
  }
  const auto last = static_cast<std::uint64_t>(pending);
  std::memcpy(to, &last, (bits + 7) / 8);
}

template <typename I>
void unpack(const std::byte* from, std::size_t count, std::uint32_t width, I* gaps) {
  const std::byte* end = from + packed_bytes(count, width);
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  unsigned __int128 pending = 0;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (bits < width) {
      std::uint64_t more = 0;
      const auto bytes = std::min<std::size_t>(8, static_cast<std::size_t>(end - from));
      std::memcpy(&more, from, bytes);
      from += bytes;
      pending |= static_cast<unsigned __int128>(more) << bits;
      bits += static_cast<std::uint32_t>(bytes * 8);
    }
    gaps[i] = static_cast<I>(static_cast<std::uint64_t>(pending) & mask);
    pending >>= width;
    bits -= width;
  }
}

// Calls body(first entry, indices of the block, gaps, width).
template <typename I, typename Body>
void for_each_block(std::span<const I> indices, Body&& body) {
  std::array<I, kBlock> gaps;
  I next = 0;
  for (std::size_t entry = 0; entry < indices.size(); entry += kBlock) {
    const auto block = indices.subspan(entry, std::min(kBlock, indices.size() - entry));
    const std::uint32_t width = gaps_of(block, next, gaps);
    body(gaps.data(), block.size(), width);
    next = block.back() + 1;
  }
}

template <typename I>
void read_typed(const std::byte* from, std::uint64_t num_units, std::span<I> out) {
  std::array<I, kBlock> gaps;
  std::uint64_t next = 0;
  for (std::size_t entry = 0; entry < out.size(); entry += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - entry);
    const auto width = static_cast<std::uint32_t>(*from++);
    unpack(from, count, width, gaps.data());
    from += packed_bytes(count, width);
    for (std::size_t i = 0; i < count; ++i) {
      if (gaps[i] >= num_units - next) reject_encoding("an index is out of range");
      out[entry + i] = static_cast<I>(next + gaps[i]);
      next += std::uint64_t{gaps[i]} + 1;
    }
  }
}

double expected_width(double density, double count) {
  double width = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const double reaches = std::exp(std::ldexp(1.0, bit) * std::log1p(-density));
    const double any = 1 - std::pow(1 - reaches, count);
    if (any < 1e-9) break;
    width += any;
  }
  return width;
}

class Delta final : public IndexFormat {
 public:
  Codec codec() const override { return Codec::kDelta; }
  std::string_view name() const override { return "delta"; }

 private:
  double index_bytes(const EncodingStatistics& statistics) const override {
    const double density = std::min(
        statistics.num_entries / static_cast<double>(statistics.domain.num_units), 1 - 1e-12);
    const double blocks = std::floor(statistics.num_entries / kBlock);
    const double tail = statistics.num_entries - blocks * kBlock;
    const double full = blocks * (1 + kBlock / 8 * expected_width(density, kBlock));
    return tail > 0 ? full + 1 + std::ceil(tail * expected_width(density, tail) / 8) : full;
  }

  void append_indices(const SparseVector& vector, ByteBuffer& message) const override {
    visit_types(vector, [&](auto index, auto) {
      using I = decltype(index);
      const std::size_t begin = message.size();
      const std::size_t blocks = (vector.num_entries() + kBlock - 1) / kBlock;
      std::byte* to = extend(message, blocks * (1 + kBlock * sizeof(I)));
      for_each_block(vector.indices<I>(), [&](const I* gaps, std::size_t count, auto width) {
        *to++ = static_cast<std::byte>(width);
        pack(gaps, count, width, to);
        to += packed_bytes(count, width);
      });
      message.resize(begin + static_cast<std::size_t>(to - (message.data() + begin)));
    });
  }

  std::span<const std::byte> take_indices(const Encoded& encoded, BodyReader& body) const override {
    const std::uint32_t widest = encoded.domain.wide() ? 64 : 32;
    const std::byte* begin = nullptr;
    std::size_t size = 0;
    for (std::uint64_t entry = 0; entry < encoded.count; entry += kBlock) {
      const auto count = std::min<std::uint64_t>(kBlock, encoded.count - entry);
      const auto head = body.take(1, 1, "the indices are cut");
      if (begin == nullptr) begin = head.data();
      const auto width = static_cast<std::uint32_t>(head[0]);
      if (width > widest) reject_encoding("a gap is too wide");
      size += 1 + body.take(packed_bytes(count, width), 1, "the indices are cut").size();
    }
    return {begin, size};
  }

  void read_indices(std::span<const std::byte> part, SparseVector& out) const override {
    visit_types(out, [&](auto index, auto) {
      read_typed(part.data(), out.domain().num_units, out.indices<decltype(index)>());
    });
  }
};

}  // namespace

const Format& delta_format() {
  static const Delta format;
  return format;
}

double delta_index_bytes(const SparseVector& vector) {
  constexpr std::size_t kExact = 16384, kStride = 16;  // blocks
  const std::size_t blocks = (vector.num_entries() + kBlock - 1) / kBlock;
  const std::size_t stride = blocks <= kExact ? 1 : kStride;
  std::uint64_t bytes = 0, seen = 0;
  visit_types(vector, [&](auto index, auto) {
    using I = decltype(index);
    const auto indices = vector.indices<I>();
    std::array<I, kBlock> gaps;
    for (std::size_t entry = 0; entry < indices.size(); entry += stride * kBlock) {
      const auto block = indices.subspan(entry, std::min(kBlock, indices.size() - entry));
      const I next = entry == 0 ? 0 : indices[entry - 1] + 1;
      bytes += 1 + packed_bytes(block.size(), gaps_of(block, next, gaps));
      seen += block.size();
    }
  });
  return seen == 0 ? 0
                   : static_cast<double>(bytes) * static_cast<double>(vector.num_entries()) /
                         static_cast<double>(seen);
}

}  // namespace tandem::collectives
