// SPDX-License-Identifier: Apache-2.0
//
// The place is that of the call which made the buffer, where the program has debug information.
#include "emulation/protocol/buffer_finding.h"

#include "emulation/protocol/code_place.h"

namespace tandem::emulation {

void add_buffer_to(Finding& finding, const MemoryStates& states, uint64_t address) {
  const BufferRecord* const buffer = states.find(address);
  if (buffer == nullptr) return;
  const SourcePlace made = place_of(buffer->made_at);
  const bool known = made.line != 0;
  finding.more.emplace_back(
      "buffer", "{\"address\": " + std::to_string(buffer->address) +
                    ", \"bytes\": " + std::to_string(buffer->size_bytes) + ", \"offset\": " +
                    std::to_string(static_cast<int64_t>(address - buffer->address)) +
                    ", \"made_in\": " + (known ? json_string(made.file) : "null") +
                    ", \"made_at_line\": " + (known ? std::to_string(made.line) : "null") + "}");
  if (!known) return;
  finding.message += " (the buffer is made at " + made.file + ":" + std::to_string(made.line) + ")";
}

}  // namespace tandem::emulation
