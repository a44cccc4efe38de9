// SPDX-License-Identifier: Apache-2.0
//
// What formats share: reading with bounds, and index part plus packed values.
#include "collectives/codec/format.h"

#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {

void reject_encoding(const char* what) {
  throw Error("codec", std::string("the encoding cannot be read: ") + what);
}

std::byte* extend(ByteBuffer& message, std::size_t bytes) {
  const std::size_t at = message.size();
  message.resize(at + bytes);
  return message.data() + at;
}

std::span<const std::byte> BodyReader::take(std::uint64_t count, std::uint64_t item_bytes,
                                            const char* what) {
  if (item_bytes != 0 && count > rest_.size() / item_bytes) reject_encoding(what);
  const auto taken = rest_.first(static_cast<std::size_t>(count * item_bytes));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

double IndexFormat::body_bytes(const EncodingStatistics& statistics, DType wire) const {
  if (statistics.num_entries <= 0) return 0;
  return index_bytes(statistics) + statistics.num_entries * wire_row_bytes(statistics.domain, wire);
}

std::uint64_t IndexFormat::encode(const SparseVector& vector, DType wire, Reduction,
                                  ByteBuffer& message) const {
  if (vector.num_entries() == 0) return 0;
  append_indices(vector, message);
  const std::size_t num_values = vector.num_entries() * vector.domain().width;
  std::byte* to = extend(message, num_values * dtype_block_bytes(wire));
  sparse::store_wire(vector.value_bytes().data(), num_values, vector.type(), wire, to);
  return vector.num_entries();
}

SparseVector IndexFormat::decode(const Encoded& encoded, Reduction, BodyReader& body) const {
  SparseVector out(encoded.domain, encoded.type);
  if (encoded.count == 0) return out;
  if (encoded.count > encoded.domain.num_units) reject_encoding("more entries than units");
  const auto indices = take_indices(encoded, body);
  const auto row_bytes = encoded.domain.width * dtype_block_bytes(encoded.wire);
  const auto values = body.take(encoded.count, row_bytes, "the values are cut");
  out.resize(static_cast<std::size_t>(encoded.count));
  read_indices(indices, out);
  visit_type(encoded.type, [&](auto zero) {
    const auto to = std::as_writable_bytes(out.values<decltype(zero)>());
    sparse::load_wire(values.data(), out.num_entries() * encoded.domain.width, encoded.type,
                      encoded.wire, to.data());
  });
  return out;
}

}  // namespace tandem::collectives
