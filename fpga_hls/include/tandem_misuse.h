// SPDX-License-Identifier: Apache-2.0
//
// misused(): tells an emulated card why a type of these headers is about to throw, so that its
// report has the kernel's line. In a plain C++ program it does nothing.
//
// `kind` is a kind of the card's findings. The function behind it is weak, and only cards have it.
#pragma once

#include "tandem_macros_begin.h"

extern "C" __attribute__((weak, visibility("default"))) void tandem_misused(const char* kind,
                                                                            const char* what);

namespace tandem_hls {

inline void misused(const char* kind, const char* what) {
  if (tandem_misused) tandem_misused(kind, what);
}

}  // namespace tandem_hls

#include "tandem_macros_end.h"
