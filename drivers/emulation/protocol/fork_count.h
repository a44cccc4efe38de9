// SPDX-License-Identifier: Apache-2.0
//
// Telling a forked child from the process that opened a card, without a system call.
// Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

// Differs between a process and the children it forked (not between those and theirs, as long as
// they do not fork again).
uint32_t fork_count();

}  // namespace tandem::emulation
