// SPDX-License-Identifier: Apache-2.0
//
// What the entry points of libtandem-gloo.so share: the C library's own calls behind them, and the
// record. Threads: any.
#pragma once

#include <dlfcn.h>

namespace tandem::apps {

template <typename Call>
Call next_call(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

// Writes what has been sent so far; keeps errno.
void write_socket_flows();

}  // namespace tandem::apps
