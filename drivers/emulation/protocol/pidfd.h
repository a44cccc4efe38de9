// SPDX-License-Identifier: Apache-2.0
//
// Process descriptors with C linkage, which <sys/pidfd.h> of glibc 2.36 does not state. Threads:
// any.
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
