// SPDX-License-Identifier: Apache-2.0
//
// Functions that the entry points of libtandem-gloo.so share: finding the C library's own function,
// and writing the record. Threads: any.
#pragma once

#include <dlfcn.h>

namespace tandem::apps {

// Returns the C library's function of this name, which the preloaded function hides.
template <typename Call>
Call next_call(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

// Writes what has been sent so far; keeps errno.
void write_socket_flows();

}  // namespace tandem::apps
