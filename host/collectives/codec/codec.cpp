// SPDX-License-Identifier: Apache-2.0
#include "collectives/codec/codec.h"

#include <array>

namespace tandem::collectives {
namespace {

constexpr std::array kCodecs = {Codec::kCoo32};

struct Header {
  std::uint8_t codec;
  std::uint8_t wire;
  std::uint16_t reserved;
  std::uint32_t width;
  std::uint64_t num_entries;
};

}  // namespace

std::string_view codec_name(Codec codec) { return codec == Codec::kAuto ? "auto" : "coo32"; }

std::optional<Codec> codec_from_name(std::string_view name) {
  if (name == "auto") return Codec::kAuto;
  if (name == "coo32") return Codec::kCoo32;
  return std::nullopt;
}

std::span<const Codec> all_codecs() { return kCodecs; }

bool codec_supports(Codec, Domain) { return true; }

double encoded_bytes(Codec, const EncodingStatistics& statistics, DType wire) {
  const double index_bytes = statistics.domain.wide() ? 8 : 4;
  return sizeof(Header) +
         statistics.num_entries *
             (index_bytes + statistics.domain.width * static_cast<double>(dtype_block_bytes(wire)));
}

Codec choose_codec(const EncodingStatistics&, DType) { return Codec::kCoo32; }

void encode(const SparseVector& vector, Codec, DType wire, Reduction, ByteBuffer& message) {
  TANDEM_CHECK(wire == vector.type());
  append_value(message,
               Header{static_cast<std::uint8_t>(Codec::kCoo32), static_cast<std::uint8_t>(wire), 0,
                      vector.domain().width, vector.num_entries()});
  visit_types(vector, [&](auto index, auto) {
    const auto indices = std::as_bytes(vector.indices<decltype(index)>());
    message.insert(message.end(), indices.begin(), indices.end());
  });
  message.insert(message.end(), vector.value_bytes().begin(), vector.value_bytes().end());
}

SparseVector decode(std::span<const std::byte>& body, Domain domain, DType type, Reduction) {
  Header header;
  if (body.size() < sizeof(header)) throw Error("codec", "the header is cut");
  std::memcpy(&header, body.data(), sizeof(header));
  body = body.subspan(sizeof(header));
  SparseVector out(domain, type);
  const std::size_t index_bytes = domain.wide() ? 8 : 4;
  if (header.num_entries > body.size() / (index_bytes + out.row_bytes())) {
    throw Error("codec", "more entries than bytes");
  }
  out.resize(header.num_entries);
  visit_types(out, [&](auto index, auto value) {
    const auto indices = std::as_writable_bytes(out.indices<decltype(index)>());
    std::memcpy(indices.data(), body.data(), indices.size());
    body = body.subspan(indices.size());
    const auto values = std::as_writable_bytes(out.values<decltype(value)>());
    std::memcpy(values.data(), body.data(), values.size());
    body = body.subspan(values.size());
  });
  return out;
}

}  // namespace tandem::collectives
