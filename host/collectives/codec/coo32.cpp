// SPDX-License-Identifier: Apache-2.0
//
// coo32: every index as it is, 4 bytes, or 8 when the domain is wide. Decoding compares neighbours.
#include "collectives/codec/format.h"

namespace tandem::collectives {
namespace {

class Coo32 final : public IndexFormat {
 public:
  Codec codec() const override { return Codec::kCoo32; }
  std::string_view name() const override { return "coo32"; }

 private:
  static std::size_t bytes_of(Domain domain) { return domain.wide() ? 8 : 4; }

  double index_bytes(const EncodingStatistics& statistics) const override {
    return statistics.num_entries * static_cast<double>(bytes_of(statistics.domain));
  }

  void append_indices(const SparseVector& vector, ByteBuffer& message) const override {
    visit_types(vector, [&](auto index, auto) {
      const auto indices = std::as_bytes(vector.indices<decltype(index)>());
      std::memcpy(extend(message, indices.size()), indices.data(), indices.size());
    });
  }

  std::span<const std::byte> take_indices(const Encoded& encoded, BodyReader& body) const override {
    return body.take(encoded.count, bytes_of(encoded.domain), "the indices are cut");
  }

  void read_indices(std::span<const std::byte> part, SparseVector& out) const override {
    visit_types(out, [&](auto index, auto) {
      const auto indices = out.indices<decltype(index)>();
      std::memcpy(indices.data(), part.data(), part.size());
      // No early exit, so that the loop vectorises. If indices ascend and the last is in range, all
      // are.
      bool ascending = true;
      for (std::size_t entry = 1; entry < indices.size(); ++entry) {
        ascending &= indices[entry - 1] < indices[entry];
      }
      if (!ascending) reject_encoding("indices do not ascend");
      if (indices.back() >= out.domain().num_units) reject_encoding("an index is out of range");
    });
  }
};

}  // namespace

const Format& coo32_format() {
  static const Coo32 format;
  return format;
}

}  // namespace tandem::collectives
