// SPDX-License-Identifier: Apache-2.0
//
// coo16: a table of entries per chunk of 65,536 units (u32 each, for every chunk of the domain),
// then for every entry its place in the chunk (u16). Smaller than coo32 above one entry in 32,768
// units. Domains up to 2^40 units, whose table has 64 MiB.
#include <algorithm>

#include "collectives/codec/format.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kChunkUnits = 65536;

std::uint64_t num_chunks(Domain domain) {
  return (domain.num_units + kChunkUnits - 1) / kChunkUnits;
}

template <typename I>
void append_typed(std::span<const I> indices, std::uint64_t chunks, ByteBuffer& message) {
  std::byte* table = extend(message, chunks * 4 + indices.size() * 2);
  std::byte* places = table + chunks * 4;
  std::size_t entry = 0;
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const I first = static_cast<I>(chunk * kChunkUnits);
    const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(entry);
    // A chunk has at most its own number of units; so the search is short.
    const auto limit = begin + static_cast<std::ptrdiff_t>(
                                   std::min<std::size_t>(kChunkUnits, indices.size() - entry));
    const auto end =
        std::partition_point(begin, limit, [&](I index) { return index - first < kChunkUnits; });
    const auto count = static_cast<std::size_t>(end - begin);
    store_unaligned(table + chunk * 4, static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      store_unaligned(places + (entry + i) * 2, static_cast<std::uint16_t>(begin[i]));
    }
    entry += count;
  }
}

template <typename I>
void read_typed(const std::byte* table, const std::byte* places, std::uint64_t num_units,
                std::span<I> out) {
  std::size_t entry = 0;
  for (std::uint64_t chunk = 0; entry < out.size(); ++chunk) {
    const auto count = load_unaligned<std::uint32_t>(table + chunk * 4);
    const I first = static_cast<I>(chunk * kChunkUnits);
    for (std::size_t i = entry; i < entry + count; ++i) {
      out[i] = first + load_unaligned<std::uint16_t>(places + i * 2);
    }
    bool ascending = true;
    for (std::size_t i = entry + 1; i < entry + count; ++i) ascending &= out[i - 1] < out[i];
    if (!ascending) reject_encoding("indices of a chunk do not ascend");
    entry += count;
  }
  if (out.back() >= num_units) reject_encoding("an index is out of range");
}

class Coo16 final : public IndexFormat {
 public:
  Codec codec() const override { return Codec::kCoo16; }
  std::string_view name() const override { return "coo16"; }
  bool supports(Domain domain) const override {
    return domain.num_units <= (std::uint64_t{1} << 40);
  }

 private:
  double index_bytes(const EncodingStatistics& statistics) const override {
    return static_cast<double>(num_chunks(statistics.domain)) * 4 + statistics.num_entries * 2;
  }

  void append_indices(const SparseVector& vector, ByteBuffer& message) const override {
    visit_types(vector, [&](auto index, auto) {
      append_typed(vector.indices<decltype(index)>(), num_chunks(vector.domain()), message);
    });
  }

  std::span<const std::byte> take_indices(const Encoded& encoded, BodyReader& body) const override {
    const auto table = body.take(num_chunks(encoded.domain), 4, "the table of chunks is cut");
    const auto places = body.take(encoded.count, 2, "the indices are cut");
    return {table.data(), table.size() + places.size()};
  }

  void read_indices(std::span<const std::byte> part, SparseVector& out) const override {
    const std::uint64_t chunks = num_chunks(out.domain());
    std::uint64_t total = 0;
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      total += load_unaligned<std::uint32_t>(part.data() + chunk * 4);
    }
    if (total != out.num_entries()) reject_encoding("the chunks do not add up to the entries");
    visit_types(out, [&](auto index, auto) {
      read_typed(part.data(), part.data() + chunks * 4, out.domain().num_units,
                 out.indices<decltype(index)>());
    });
  }
};

}  // namespace

const Format& coo16_format() {
  static const Coo16 format;
  return format;
}

}  // namespace tandem::collectives
