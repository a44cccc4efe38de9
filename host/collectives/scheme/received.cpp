// SPDX-License-Identifier: Apache-2.0
//
// The one place where a codec's Error becomes a rank's garbage.
#include "collectives/scheme/received.h"

#include <string>

namespace tandem::collectives {

Codec usable_codec(Codec codec, Domain domain) {
  return codec != Codec::kAuto && !codec_supports(codec, domain) ? Codec::kAuto : codec;
}

ByteBuffer encoded_message(const SparseVector& vector, const SchemeSettings& settings) {
  ByteBuffer message = new_message();
  encode(vector, usable_codec(settings.codec, vector.domain()), settings.wire, settings.reduction,
         message);
  return message;
}

SparseVector decode_part(const Communicator& ranks, const char* phase, const Message& message,
                         std::span<const std::byte>& body, Domain domain, DType type,
                         Reduction reduction) {
  try {
    return decode(body, domain, type, reduction);
  } catch (const Error& error) {
    ranks.reject(phase, message.source(), error.what());
  }
}

void expect_end(const Communicator& ranks, const char* phase, const Message& message,
                std::span<const std::byte> body) {
  if (!body.empty()) {
    ranks.reject(phase, message.source(), std::to_string(body.size()) + " bytes too many");
  }
}

SparseVector decode_from(const Communicator& ranks, const char* phase, const Message& message,
                         Domain domain, DType type, Reduction reduction) {
  auto body = message.body();
  SparseVector vector = decode_part(ranks, phase, message, body, domain, type, reduction);
  expect_end(ranks, phase, message, body);
  return vector;
}

}  // namespace tandem::collectives
