// SPDX-License-Identifier: Apache-2.0
//
// Agreement: the exchange of headers that opens every collective call.
//
// All ranks learn a hash of what must be equal everywhere (function, shapes, types, options) and
// each rank's own facts (its entries, its node, whether its arguments are invalid, bytes of a
// profile). If hashes differ or a rank reports an error, a second exchange sends the texts, and
// every rank throws the same AgreedError. It names ranks, fields and values, and the group stays
// usable. No rank leaves before all have entered, so an agreement is also a barrier. Cost:
// ceil(log2 n) steps (Bruck's all-gather); about 40 bytes per rank, sent once to each; twice the
// steps on failure. Threads: the call's. Errors: TransportError. Source: Bruck et al., "Efficient
// algorithms for all-to-all communications", IEEE TPDS 1997.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/frames/communicator.h"

namespace tandem::collectives {

// An error that all ranks throw with the same text; only headers were exchanged.
class AgreedError : public Error {
 public:
  explicit AgreedError(const std::string& message) : Error("collectives", message) {}
};

struct Field {
  std::string name;  // "width"
  std::string value;
};

struct CallHeader {
  std::string_view function;  // "sparse_allreduce"
  std::vector<Field> fields;  // equal on all ranks; the same names for the same function
  std::uint64_t count = 0;    // this rank's entries, or bytes; may differ among ranks
  std::string error;          // what is wrong with the own arguments
  std::uint64_t node = 0;     // an id of the machine: equal for ranks of one machine
  ByteBuffer profile;         // bytes that only the selector interprets
};

struct Agreement {
  std::vector<std::uint64_t> counts;  // [world]
  std::uint64_t total = 0;            // their sum, which does not overflow
  std::vector<std::uint64_t> nodes;   // [world]
  std::vector<ByteBuffer> profiles;   // [world]
};

// Throws AgreedError if ranks differ, a rank reports an error, or the sum of the counts overflows.
Agreement agree(Communicator& ranks, const CallHeader& own);

}  // namespace tandem::collectives
