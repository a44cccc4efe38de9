// SPDX-License-Identifier: Apache-2.0
//
// Declares process descriptors with C linkage; <sys/pidfd.h> of glibc 2.36 lacks it. Threads: any.
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
