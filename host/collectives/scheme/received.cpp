// SPDX-License-Identifier: Apache-2.0
//
// The one place where a codec's Error becomes a rank's garbage.
#include "collectives/scheme/received.h"

namespace tandem::collectives {

std::span<const std::byte> MessageReader::bytes(std::size_t size) {
  if (size > rest_.size()) {
    reject("it is cut: " + std::to_string(rest_.size()) + " bytes where " + std::to_string(size) +
           " were to come");
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

Codec usable_codec(Codec codec, Domain domain) {
  return codec != Codec::kAuto && !codec_supports(codec, domain) ? Codec::kAuto : codec;
}

ByteBuffer encoded_message(const SparseVector& vector, const SchemeSettings& settings) {
  ByteBuffer message = new_message();
  encode(vector, usable_codec(settings.codec, vector.domain()), settings.wire, settings.reduction,
         message);
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
