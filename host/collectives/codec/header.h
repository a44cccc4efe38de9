// SPDX-License-Identifier: Apache-2.0
//
// The header of every encoding, 16 bytes; the format's body follows. Threads: plain values.
#pragma once

#include <cstdint>

namespace tandem::collectives {

struct EncodingHeader {
  std::uint8_t codec = 0;      // a Codec: the format of the body
  std::uint8_t wire = 0;       // a DType: the type of the values in the body
  std::uint16_t reserved = 0;  // 0
  std::uint32_t width = 1;
  std::uint64_t count = 0;  // number of entries; codec blocks: of blocks; codec dense: of units
};
static_assert(sizeof(EncodingHeader) == 16);

}  // namespace tandem::collectives
