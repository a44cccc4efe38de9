// SPDX-License-Identifier: Apache-2.0
//
// Finds programs that read a host copy before a kernel's results were synced to it.
//
// After a kernel has written bytes on the card, the pages of their host copies are closed
// (PROT_NONE). The first access then faults. A read of such a byte is recorded with its call stack,
// and the access continues. A write opens its page: those bytes belong to the program again. System
// calls are not handled: on a closed page they fail with EFAULT. Threads: any; one at a time per
// copy, except faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::emulation {

constexpr int kMostReadFrames = 24;

// A read of a byte that a kernel wrote, before it was synced from the device.
struct EarlyRead {
  const void* owner = nullptr;                        // the owner of the copy
  uint64_t offset = 0;                                // in the copy
  uint64_t copy = 0;                                  // as given to watch_copy()
  std::array<const void*, kMostReadFrames> frames{};  // return addresses, innermost first
};

// Called for each read: on the reading thread if that is safe, otherwise by report_reads().
using ReadReporter = void (*)(const EarlyRead& read);

class MemoryStates;
class WatchedCopy;

// Watches [host, +size_bytes), the copy of the buffer at device address `copy`. Its first byte is
// at the start of a page. `owns_pages`: no other data is in the rest of the last page. Returns null
// if there are too many copies.
WatchedCopy* watch_copy(const void* owner, uint64_t copy, std::byte* host, uint64_t size_bytes,
                        bool owns_pages, const MemoryStates& states);
// Opens all pages; call it before the memory is released.
void unwatch_copy(WatchedCopy* watched);
// Call it when a kernel has ended: closes the pages with bytes that the host has not received.
void close_unseen(WatchedCopy* watched);
// The runtime itself uses a range: its pages are open until end_use(), which closes pages again.
void begin_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes);
void end_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes);

// The parts of a copy whose bytes may have changed since this was last called: pages that are open,
// and those that were closed since then. A closed page cannot change.
struct CopyPart {
  uint64_t offset = 0, size_bytes = 0;
  bool is_closed = false;  // begin_use() is needed
};
std::vector<CopyPart> take_changeable(WatchedCopy& watched);

void set_read_reporter(ReadReporter reporter);
// Reports the reads that were recorded where a report was not safe.
void report_reads();

}  // namespace tandem::emulation
