// SPDX-License-Identifier: Apache-2.0
//
// A kernel that crashes ends its card, after the cause is written into the shared state.
#pragma once

#include "emulation/card/memory/card_areas.h"

namespace tandem::emulation {

// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT; `areas` must
// exist until the process ends.
void install_fault_handler(const CardAreas& areas);

}  // namespace tandem::emulation
