// SPDX-License-Identifier: Apache-2.0
//
// blocks: the numbers of the blocks that hold an entry (u32 each, ascending), then all values of
// these blocks, absent units as the reduction's identity (also past the end of the domain). A block
// has 256 values (OmniReduce's size): 256 / width units, at least one, at most the domain.
#include <algorithm>
#include <cmath>

#include "collectives/codec/present_units.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kBlockValues = 256;

std::uint64_t num_blocks(Domain domain) {
  const std::uint64_t units = units_per_block(domain);
  return (domain.num_units + units - 1) / units;
}

// Values past the end of the domain must be absent, so that none is lost in silence.
void check_padding(std::span<const std::byte> padding, DType wire, Reduction reduction) {
  ByteBuffer expected;
  std::byte* to = extend(expected, padding.size());
  fill_identity(to, padding.size() / dtype_block_bytes(wire), wire, reduction);
  if (!std::ranges::equal(expected, padding)) reject_encoding("values outside the domain");
}

class Blocks final : public Format {
 public:
  Codec codec() const override { return Codec::kBlocks; }
  std::string_view name() const override { return "blocks"; }
  bool supports(Domain domain) const override { return !domain.wide(); }

  double body_bytes(const EncodingStatistics& statistics, DType wire) const override {
    const auto units = static_cast<double>(units_per_block(statistics.domain));
    double touched = statistics.num_blocks;
    if (touched <= 0 && statistics.num_entries > 0) {
      const double density =
          statistics.num_entries / static_cast<double>(statistics.domain.num_units);
      touched = static_cast<double>(num_blocks(statistics.domain)) *
                (1 - std::pow(1 - std::min(density, 1.0), units));
    }
    return touched * (4 + units * wire_row_bytes(statistics.domain, wire));
  }

  std::uint64_t encode(const SparseVector& vector, DType wire, Reduction reduction,
                       ByteBuffer& message) const override {
    if (vector.num_entries() == 0) return 0;
    const Domain domain = vector.domain();
    const auto units = static_cast<std::uint32_t>(units_per_block(domain));
    const auto indices = vector.indices<std::uint32_t>();
    std::size_t count = 1;
    for (std::size_t i = 1; i < indices.size(); ++i) {
      count += indices[i] / units != indices[i - 1] / units;
    }
    const std::size_t row_bytes = domain.width * dtype_block_bytes(wire);
    std::byte* numbers = extend(message, count * (4 + units * row_bytes));
    std::byte* block = numbers + count * 4;
    fill_identity(block, count * units * domain.width, wire, reduction);
    const std::byte* from = vector.value_bytes().data();
    std::uint32_t current = indices[0] / units;
    store_unaligned(numbers, current);
    for (const std::uint32_t index : indices) {
      if (const std::uint32_t number = index / units; number != current) {
        current = number;
        store_unaligned(numbers += 4, current);
        block += units * row_bytes;
      }
      sparse::store_wire(from, domain.width, vector.type(), wire,
                         block + index % units * row_bytes);
      from += vector.row_bytes();
    }
    return count;
  }

  SparseVector decode(const Encoded& encoded, Reduction reduction,
                      BodyReader& body) const override {
    const Domain domain = encoded.domain;
    if (encoded.count == 0) return SparseVector(domain, encoded.type);
    if (encoded.count > num_blocks(domain)) reject_encoding("more blocks than the domain has");
    const std::uint64_t units = units_per_block(domain);
    const std::size_t block_bytes = units * domain.width * dtype_block_bytes(encoded.wire);
    const auto numbers = body.take(encoded.count, 4, "the block numbers are cut");
    const auto values = body.take(encoded.count, block_bytes, "the blocks are cut");
    PresentUnits present(encoded, reduction, encoded.count * units);
    std::uint64_t next = 0;  // the least number that is valid here
    for (std::uint64_t block = 0; block < encoded.count; ++block) {
      const auto number = load_unaligned<std::uint32_t>(numbers.data() + block * 4);
      if (number < next || number >= num_blocks(domain)) {
        reject_encoding("block numbers do not ascend or are out of range");
      }
      next = std::uint64_t{number} + 1;
      const std::uint64_t first = number * units;
      const std::uint64_t inside = std::min(units, domain.num_units - first);
      const auto from = values.subspan(block * block_bytes, block_bytes);
      present.add(first, inside, from.data());
      check_padding(from.subspan(inside * (block_bytes / units)), encoded.wire, reduction);
    }
    return present.finish();
  }
};

}  // namespace

const Format& blocks_format() {
  static const Blocks format;
  return format;
}

std::uint64_t units_per_block(Domain domain) {
  return std::min(std::max<std::uint64_t>(1, kBlockValues / domain.width),
                  std::max<std::uint64_t>(1, domain.num_units));
}

void fill_identity(std::byte* to, std::size_t num_values, DType wire, Reduction reduction) {
  if (num_values == 0) return;  // `to` may be null
  if (reduction != Reduction::kMax || wire == DType::kU64) {
    std::memset(to, 0, num_values * dtype_block_bytes(wire));
    return;
  }
  std::byte least[8];
  const DType type = accumulation_type(wire);
  visit_type(type, [&](auto zero) {
    const auto identity = identity_of<decltype(zero)>(reduction);
    std::byte typed[sizeof(identity)];
    store_unaligned(typed, identity);
    sparse::store_wire(typed, 1, type, wire, least);
  });
  const std::size_t bytes = dtype_block_bytes(wire);
  for (std::size_t i = 0; i < num_values; ++i) std::memcpy(to + i * bytes, least, bytes);
}

}  // namespace tandem::collectives
