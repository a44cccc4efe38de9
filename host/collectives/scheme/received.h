// SPDX-License-Identifier: Apache-2.0
//
// Sparse vectors as whole messages: encoding for a phase, and decoding what a rank has sent.
//
// Whatever does not decode is the sender's garbage: Communicator::reject names it and the phase.
// Threads: any.
#pragma once

#include "collectives/communicator.h"
#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

// The codec the settings ask for, or auto where it cannot carry `domain` (bitmap, blocks and dense
// of a huge domain): each part of a partitioned vector may then differ.
Codec usable_codec(Codec codec, Domain domain);

// A message with `vector` in its body.
ByteBuffer encoded_message(const SparseVector& vector, const SchemeSettings& settings);

// Reads one vector from the front of `body`, a part of `message`, and advances it.
SparseVector decode_part(const Communicator& ranks, const char* phase, const Message& message,
                         std::span<const std::byte>& body, Domain domain, DType type,
                         Reduction reduction);

// Throws where bytes are left over.
void expect_end(const Communicator& ranks, const char* phase, const Message& message,
                std::span<const std::byte> body);

// The vector that is the whole body.
SparseVector decode_from(const Communicator& ranks, const char* phase, const Message& message,
                         Domain domain, DType type, Reduction reduction);

}  // namespace tandem::collectives
