// SPDX-License-Identifier: Apache-2.0
//
// The memory in which streams of checked kernels keep their values (tandem_chain.h): values that
// are missing may be marked there, because the marks are cleared before the memory is freed.
// Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

void add_stream_block(uint64_t address, uint64_t size_bytes);
// Clears its marks.
void drop_stream_block(uint64_t address);
bool is_in_stream_block(uint64_t address, uint64_t size_bytes);

}  // namespace tandem::emulation
