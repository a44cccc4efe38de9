// SPDX-License-Identifier: Apache-2.0
//
// dense: the values of all units, absent ones as the reduction's identity. A unit whose values
// round to the identity arrives as absent.
#include "collectives/codec/present_units.h"

namespace tandem::collectives {
namespace {

class Dense final : public Format {
 public:
  Codec codec() const override { return Codec::kDense; }
  std::string_view name() const override { return "dense"; }
  bool supports(Domain domain) const override { return !domain.wide(); }

  double body_bytes(const EncodingStatistics& statistics, DType wire) const override {
    return static_cast<double>(statistics.domain.num_units) *
           wire_row_bytes(statistics.domain, wire);
  }

  std::uint64_t encode(const SparseVector& vector, DType wire, Reduction reduction,
                       ByteBuffer& message) const override {
    const Domain domain = vector.domain();
    const std::size_t row_bytes = domain.width * dtype_block_bytes(wire);
    std::byte* to = extend(message, domain.num_units * row_bytes);
    fill_identity(to, domain.num_units * domain.width, wire, reduction);
    const auto indices = vector.indices<std::uint32_t>();
    const std::byte* from = vector.value_bytes().data();
    for (std::size_t entry = 0; entry < indices.size(); ++entry, from += vector.row_bytes()) {
      sparse::store_wire(from, domain.width, vector.type(), wire, to + indices[entry] * row_bytes);
    }
    return domain.num_units;
  }

  SparseVector decode(const Encoded& encoded, Reduction reduction,
                      BodyReader& body) const override {
    if (encoded.count != encoded.domain.num_units) reject_encoding("not the domain's units");
    const auto row_bytes = encoded.domain.width * dtype_block_bytes(encoded.wire);
    const auto values = body.take(encoded.count, row_bytes, "the values are cut");
    PresentUnits present(encoded, reduction, encoded.count);
    present.add(0, encoded.count, values.data());
    return present.finish();
  }
};

}  // namespace

const Format& dense_format() {
  static const Dense format;
  return format;
}

}  // namespace tandem::collectives
