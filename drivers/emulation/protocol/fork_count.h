// SPDX-License-Identifier: Apache-2.0
//
// Tells a forked child from the process that opened a card, without a system call. Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

// Differs between a process and its forked children. Two children of one process have the same
// count until they fork again.
uint32_t fork_count();

}  // namespace tandem::emulation
