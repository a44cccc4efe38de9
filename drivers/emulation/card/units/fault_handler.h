// SPDX-License-Identifier: Apache-2.0
//
// Signal handlers that write the cause of a kernel's crash into the shared state and then end the
// card.
#pragma once

#include "emulation/card/memory/card_areas.h"

namespace tandem::emulation {

// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT; `areas` must
// exist until the process ends.
void install_fault_handler(const CardAreas& areas);

}  // namespace tandem::emulation
