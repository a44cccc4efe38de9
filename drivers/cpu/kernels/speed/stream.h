// SPDX-License-Identifier: Apache-2.0
//
// Reads memory as fast as the core can. Only for measuring bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::device::cpu {

enum class ReadPattern { kOneStream, kFourStreams, kPrefetch };

// The xor of all 64-bit words, so that the compiler removes no read. size_bytes: a multiple of
// 1024.
std::uint64_t read_stream(ReadPattern pattern, const std::byte* from, std::size_t size_bytes);

}  // namespace tandem::device::cpu
