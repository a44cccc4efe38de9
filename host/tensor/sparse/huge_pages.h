// SPDX-License-Identifier: Apache-2.0
//
// advise_huge_pages: asks for 2 MiB pages under large buffers that are about to be written.
//
// A fresh buffer's page faults cost as much as filling it. Memory comes from malloc, which maps
// large blocks one by one, so the advice ends with the buffer. Does nothing below 4 MiB, or if the
// system refuses. Threads: any.
#pragma once

#include <cstddef>

namespace tandem::sparse {

void advise_huge_pages(void* begin, std::size_t size_bytes);

}  // namespace tandem::sparse
