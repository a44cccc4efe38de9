// SPDX-License-Identifier: Apache-2.0
//
// Memory that nobody has written to since it was mapped, by the page table of the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

// Whether no page of the memory, which is private and anonymous, has been read or written. False
// if it is not known. Threads: any.
bool is_untouched(const std::byte* memory, uint64_t size_bytes);

}  // namespace tandem::emulation
