// SPDX-License-Identifier: Apache-2.0
//
// Process descriptors, with the C linkage that glibc 2.36's <sys/pidfd.h> forgets to state.
// Threads: any.
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
