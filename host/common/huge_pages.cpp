// SPDX-License-Identifier: Apache-2.0
//
// Advice by madvise on the whole pages inside a buffer.
#include "common/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace tandem {

void advise_huge_pages(void* begin, std::size_t size_bytes) {
  constexpr std::size_t kLeast = std::size_t{4} << 20, kPage = 4096;
  if (size_bytes < kLeast) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + kPage - 1) / kPage * kPage;
  const std::size_t inside = (address + size_bytes - first) / kPage * kPage;
  // It is advice: without it the buffer is as good, only slower to fill.
  (void)::madvise(reinterpret_cast<void*>(first), inside, MADV_HUGEPAGE);
}

}  // namespace tandem
