// SPDX-License-Identifier: Apache-2.0
//
// advise_huge_pages: requests 2 MiB pages for large buffers that will be written soon.
//
// The page faults of a new buffer cost as much as filling it. The memory must come from malloc,
// which maps large blocks one by one, so the advice ends with the buffer. Does nothing below 4 MiB,
// or if the system refuses. Threads: any.
#pragma once

#include <cstddef>

namespace tandem {

void advise_huge_pages(void* begin, std::size_t size_bytes);

}  // namespace tandem
