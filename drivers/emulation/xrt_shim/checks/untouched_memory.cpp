// SPDX-License-Identifier: Apache-2.0
//
// /proc/self/pagemap has a number of 64 bits for each page: bit 63 if it is in memory, bit 62 if it
// is in the swap space.
#include "emulation/xrt_shim/checks/untouched_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tandem::emulation {

bool is_untouched(const std::byte* memory, uint64_t size_bytes) {
  constexpr uint64_t kExists = uint64_t{3} << 62;
  if (memory == nullptr || size_bytes == 0) return false;
  const int table = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (table < 0) return false;
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uint64_t>(memory);
  uint64_t page = begin / page_bytes;
  const uint64_t end = (begin + size_bytes - 1) / page_bytes + 1;
  std::array<uint64_t, 512> entries;
  bool is_empty = true;
  while (is_empty && page < end) {
    const uint64_t count = std::min<uint64_t>(entries.size(), end - page);
    const auto wanted = static_cast<ssize_t>(count * sizeof(uint64_t));
    is_empty = pread(table, entries.data(), wanted, static_cast<off_t>(page * sizeof(uint64_t))) ==
                   wanted &&
               std::none_of(entries.begin(), entries.begin() + count,
                            [](uint64_t entry) { return (entry & kExists) != 0; });
    page += count;
  }
  close(table);
  return is_empty;
}

}  // namespace tandem::emulation
