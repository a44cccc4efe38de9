// SPDX-License-Identifier: Apache-2.0
//
// Records what this process copies between the host and cards, and between cards, for `tandem
// trace-comm`.
//
// It records only if TANDEM_TRACE_COMM_KINDS names "xrt". The record has the format of
// host/trace/communication/record_file.h and is written when the process ends. Loads and stores of
// kernels in the memory of another card are not recorded. Threads: any.
#pragma once

#include <cstdint>

namespace tandem::emulation {

constexpr int kTrafficHost = -2;  // as a source or destination; else the index of a card

// One copy: a sync, a read, a write, or a copy of buffers.
void trace_copy(int source, int destination, uint64_t bytes);

}  // namespace tandem::emulation
