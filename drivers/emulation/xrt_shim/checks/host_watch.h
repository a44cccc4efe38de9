// SPDX-License-Identifier: Apache-2.0
//
// Finds programs that read a host copy which a kernel's results have not reached.
//
// Pages of host copies are closed (PROT_NONE) once a kernel has written their bytes on the card.
// The first access after that is a fault: a read of such a byte is noted with its call stack, then
// the access goes on. A write opens its page: those bytes are the program's own again. Between a
// system call and a closed page stands nothing: the call fails with EFAULT. Threads: any; of one
// copy, one at a time but for faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::emulation {

constexpr int kMostReadFrames = 24;

// A read of a byte that a kernel wrote, before a sync from the device.
struct EarlyRead {
  const void* owner = nullptr;                        // who watches the copy
  uint64_t offset = 0;                                // in the copy
  uint64_t copy = 0;                                  // as given to watch_copy()
  std::array<const void*, kMostReadFrames> frames{};  // as return addresses, innermost first
};

// Called with each read: in the reading thread where that is safe, else by report_reads().
using ReadReporter = void (*)(const EarlyRead& read);

class WatchedCopy;

// Watches [host, +size_bytes), whose first byte is at the begin of a page, and whose bytes have
// these `states` on the card. `owns_pages`: what follows in the last page is nobody's. Null: there
// are too many.
WatchedCopy* watch_copy(const void* owner, uint64_t copy, std::byte* host, uint64_t size_bytes,
                        bool owns_pages, uint8_t* states);
// Opens all; must come before the memory is given back.
void unwatch_copy(WatchedCopy* watched);
// A kernel has ended: closes the pages with bytes that the host has not seen.
void close_unseen(WatchedCopy* watched);
// The runtime itself uses a range: open from here to end_use(), which closes pages again.
void begin_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes);
void end_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes);

void set_read_reporter(ReadReporter reporter);
// Reports what was noted where a report was not safe.
void report_reads();

}  // namespace tandem::emulation
