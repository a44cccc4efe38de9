// SPDX-License-Identifier: Apache-2.0
//
// A codec's Error becomes a rejection of the sender here, and only here.
#include "collectives/scheme/received.h"

#include <algorithm>

#include "tensor/sparse/merge.h"

namespace tandem::collectives {

std::span<const std::byte> MessageReader::bytes(std::size_t size) {
  if (size > rest_.size()) {
    reject("it is truncated: " + std::to_string(rest_.size()) + " bytes in place of " +
           std::to_string(size));
  }
  const auto taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

SparseVector MessageReader::vector(Domain domain, DType type, Reduction reduction) {
  try {
    return decode(rest_, domain, type, reduction);
  } catch (const Error& error) {
    reject(error.what());
  }
}

void MessageReader::expect_end() const {
  if (!rest_.empty()) reject(std::to_string(rest_.size()) + " bytes too many");
}

bool keeps_presence(Codec codec, Domain domain, Reduction reduction) {
  const bool by_value = codec == Codec::kBlocks || codec == Codec::kDense;
  return codec_supports(codec, domain) && !(by_value && reduction == Reduction::kMax);
}

Codec usable_codec(Codec codec, Domain domain, Reduction reduction) {
  return codec != Codec::kAuto && !keeps_presence(codec, domain, reduction) ? Codec::kAuto : codec;
}

SchemeSettings of_partials(SchemeSettings settings) {
  settings.wire = partial_type(settings.wire, settings.reduction);
  return settings;
}

namespace {

// Moves the rows that differ from the identity together, from the first that does not on.
template <typename I, typename T>
void drop_identity(SparseVector& vector, T identity) {
  const std::size_t width = vector.domain().width;
  const auto indices = vector.indices<I>();
  const auto values = vector.values<T>();
  const auto present = [&](std::size_t entry) {
    const T* row = values.data() + entry * width;
    return std::any_of(row, row + width, [identity](T value) { return value != identity; });
  };
  std::size_t kept = 0;
  while (kept < indices.size() && present(kept)) ++kept;
  for (std::size_t entry = kept + 1; entry < indices.size(); ++entry) {
    if (!present(entry)) continue;
    indices[kept] = indices[entry];
    std::copy_n(values.data() + entry * width, width, values.data() + kept * width);
    ++kept;
  }
  if (kept < indices.size()) vector.resize(kept);
}

}  // namespace

void round_as_sent(SparseVector& vector, const SchemeSettings& settings) {
  sparse::round_to_wire(vector, settings.wire);
  if (settings.reduction == Reduction::kMax) return;
  visit_types(vector, [&](auto index, auto value) {
    drop_identity<decltype(index)>(vector, identity_of<decltype(value)>(settings.reduction));
  });
}

void finish_sum(SparseVector& sum, const SchemeSettings& settings, int world) {
  if (settings.reduction == Reduction::kMean) divide(sum, world);
  round_as_sent(sum, settings);
}

namespace {

Codec least_that_keeps_presence(const SparseVector& vector, const SchemeSettings& settings) {
  const EncodingStatistics statistics = encoding_statistics(vector);
  Codec best = Codec::kCoo32;
  double least = encoded_bytes(best, statistics, settings.wire);
  for (const Codec codec : all_codecs()) {
    if (!keeps_presence(codec, vector.domain(), settings.reduction)) continue;
    const double bytes = encoded_bytes(codec, statistics, settings.wire);
    if (bytes < least) {
      least = bytes;
      best = codec;
    }
  }
  return best;
}

}  // namespace

void append_encoded(const SparseVector& vector, const SchemeSettings& settings,
                    ByteBuffer& message) {
  Codec codec = usable_codec(settings.codec, vector.domain(), settings.reduction);
  if (codec == Codec::kAuto && settings.reduction == Reduction::kMax) {
    codec = least_that_keeps_presence(vector, settings);
  }
  encode(vector, codec, settings.wire, settings.reduction, message);
}

ByteBuffer encoded_message(const SparseVector& vector, const SchemeSettings& settings) {
  ByteBuffer message = new_message();
  append_encoded(vector, settings, message);
  return message;
}

SparseVector decode_from(const Communicator& ranks, const char* phase, const Message& message,
                         Domain domain, DType type, Reduction reduction) {
  MessageReader reader(ranks, phase, message);
  SparseVector vector = reader.vector(domain, type, reduction);
  reader.expect_end();
  return vector;
}

}  // namespace tandem::collectives
