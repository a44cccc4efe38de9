// SPDX-License-Identifier: Apache-2.0
//
// The header, the choice of a codec, and the list of formats. Each format has its own file.
#include "collectives/codec/codec.h"

#include <array>
#include <string>

#include "collectives/codec/format.h"
#include "collectives/codec/header.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {
namespace {

constexpr std::array kCodecs = {Codec::kCoo32,  Codec::kCoo16,  Codec::kDelta,
                                Codec::kBitmap, Codec::kBlocks, Codec::kDense};

const std::array<const Format*, kCodecs.size()>& formats() {
  static const std::array<const Format*, kCodecs.size()> all = {&coo32_format(),  &coo16_format(),
                                                                &delta_format(),  &bitmap_format(),
                                                                &blocks_format(), &dense_format()};
  return all;
}

const Format& format_of(Codec codec) {
  for (const Format* format : formats()) {
    if (format->codec() == codec) return *format;
  }
  throw Error("codec", "no codec has the number " + std::to_string(static_cast<int>(codec)));
}

// Sizes of entries and blocks are exact; that of delta comes from a sample if the vector is long.
Codec choose_for(const SparseVector& vector, DType wire) {
  const EncodingStatistics statistics = encoding_statistics(vector);
  const double delta = sizeof(EncodingHeader) + delta_index_bytes(vector) +
                       statistics.num_entries * wire_row_bytes(vector.domain(), wire);
  Codec best = Codec::kCoo32;
  double least = encoded_bytes(best, statistics, wire);
  for (const Format* format : formats()) {
    if (!format->supports(vector.domain())) continue;
    const double bytes =
        format->codec() == Codec::kDelta ? delta : encoded_bytes(format->codec(), statistics, wire);
    if (bytes < least) {
      least = bytes;
      best = format->codec();
    }
  }
  return best;
}

}  // namespace

std::string_view codec_name(Codec codec) {
  return codec == Codec::kAuto ? "auto" : format_of(codec).name();
}

std::optional<Codec> codec_from_name(std::string_view name) {
  if (name == "auto") return Codec::kAuto;
  for (const Format* format : formats()) {
    if (format->name() == name) return format->codec();
  }
  return std::nullopt;
}

std::span<const Codec> all_codecs() { return kCodecs; }

bool codec_supports(Codec codec, Domain domain) {
  return codec == Codec::kAuto || format_of(codec).supports(domain);
}

double encoded_bytes(Codec codec, const EncodingStatistics& statistics, DType wire) {
  if (codec == Codec::kAuto) codec = choose_codec(statistics, wire);
  return sizeof(EncodingHeader) + format_of(codec).body_bytes(statistics, wire);
}

Codec choose_codec(const EncodingStatistics& statistics, DType wire) {
  Codec best = Codec::kCoo32;
  double least = encoded_bytes(best, statistics, wire);
  for (const Format* format : formats()) {
    if (!format->supports(statistics.domain)) continue;
    const double bytes = encoded_bytes(format->codec(), statistics, wire);
    if (bytes < least) {
      least = bytes;
      best = format->codec();
    }
  }
  return best;
}

void encode(const SparseVector& vector, Codec codec, DType wire, Reduction reduction,
            ByteBuffer& message) {
  if (!sparse::can_carry(vector.type(), wire)) {
    throw Error("codec", "values of type " + std::string(dtype_name(vector.type())) +
                             " cannot travel as " + std::string(dtype_name(wire)));
  }
  if (codec == Codec::kAuto) codec = choose_for(vector, wire);
  const Format& format = format_of(codec);
  if (!format.supports(vector.domain())) {
    throw Error("codec", std::string(format.name()) + " cannot enumerate " +
                             std::to_string(vector.domain().num_units) +
                             " units; use auto, coo32 or delta");
  }
  EncodingHeader header{static_cast<std::uint8_t>(codec), static_cast<std::uint8_t>(wire), 0,
                        vector.domain().width, 0};
  const std::size_t at = message.size();
  append_value(message, header);
  header.count = format.encode(vector, wire, reduction, message);
  std::memcpy(message.data() + at, &header, sizeof(header));
}

SparseVector decode(std::span<const std::byte>& body, Domain domain, DType type,
                    Reduction reduction) {
  BodyReader reader(body);
  const auto header =
      load_unaligned<EncodingHeader>(reader.take(1, sizeof(EncodingHeader), "no header").data());
  const auto codec = static_cast<Codec>(header.codec);
  const auto wire = static_cast<DType>(header.wire);
  if (codec == Codec::kAuto || header.codec > kCodecs.size()) reject_encoding("an unknown codec");
  if (header.reserved != 0) reject_encoding("reserved bits are set");
  if (!sparse::can_carry(type, wire)) reject_encoding("values of another type");
  if (header.width != domain.width) reject_encoding("units of another width");
  const Format& format = format_of(codec);
  if (!format.supports(domain)) reject_encoding("a codec that does not fit the domain");
  SparseVector vector = format.decode({domain, type, wire, header.count}, reduction, reader);
  body = body.last(reader.remaining());
  return vector;
}

}  // namespace tandem::collectives
