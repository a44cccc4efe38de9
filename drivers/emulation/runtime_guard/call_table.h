// SPDX-License-Identifier: Apache-2.0
//
// replace_calls(): gives the calls of a loaded library to a function of another library a new
// target.
//
// Only calls by the library's table of calls (PLT) are found. A page of the table that the loader
// has made read-only is so again afterwards. Threads: one; no call of the library meanwhile.
#pragma once

#include <link.h>

namespace tandem::emulation {

void replace_calls(const link_map& library, const char* function, void* target);

}  // namespace tandem::emulation
