// SPDX-License-Identifier: Apache-2.0
//
// Messages of the schemes: encodes a vector for a phase, and reads the messages of other ranks.
//
// A MessageReader reads a body in order. If a body is truncated, too long or invalid, the sender is
// at fault: Communicator::reject names the sender and the phase. Borrows its arguments.
// Threads: any.
#pragma once

#include <cstring>
#include <string>

#include "collectives/frames/communicator.h"
#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

class MessageReader {
 public:
  MessageReader(const Communicator& ranks, const char* phase, const Message& message)
      : ranks_(ranks), phase_(phase), source_(message.source()), rest_(message.body()) {}

  int source() const { return source_; }
  std::size_t num_left() const { return rest_.size(); }

  std::span<const std::byte> bytes(std::size_t size);
  template <typename T>
  T value() {
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  SparseVector vector(Domain domain, DType type, Reduction reduction);
  void expect_end() const;

  [[noreturn]] void reject(const std::string& what) const { ranks_.reject(phase_, source_, what); }

 private:
  const Communicator& ranks_;
  const char* phase_;
  int source_;
  std::span<const std::byte> rest_;
};

// Whether `codec` (not auto) supports `domain` and, for max, distinguishes absent units from units
// that equal the identity. Blocks and dense do not.
bool keeps_presence(Codec codec, Domain domain, Reduction reduction);

// The requested codec, or auto if it does not keep presence (bitmap, blocks and dense of a huge
// domain, blocks and dense for max).
Codec usable_codec(Codec codec, Domain domain, Reduction reduction);

// `settings` for messages with partial results (partial_type).
SchemeSettings of_partials(SchemeSettings settings);

// Changes `vector` to the vector that others decode from a message with it. Values are rounded to
// the wire type. For sums, units that equal the identity are removed, because blocks and dense
// cannot represent them. A scheme calls it before it sends, so that the sender keeps the same bits.
// One pass.
void round_as_sent(SparseVector& vector, const SchemeSettings& settings);

// A complete sum over `world` ranks: divided for a mean, then rounded as sent.
void finish_sum(SparseVector& sum, const SchemeSettings& settings, int world);

// Appends `vector`, which is rounded as sent: in the usable codec or, for auto, in the smallest of
// those that keep presence.
void append_encoded(const SparseVector& vector, const SchemeSettings& settings,
                    ByteBuffer& message);

// A message with `vector`, which is rounded as sent, in its body.
ByteBuffer encoded_message(const SparseVector& vector, const SchemeSettings& settings);

// Decodes a message whose body is one vector.
SparseVector decode_from(const Communicator& ranks, const char* phase, const Message& message,
                         Domain domain, DType type, Reduction reduction);

}  // namespace tandem::collectives
