// SPDX-License-Identifier: Apache-2.0
//
// Shared by the events of cards and of the link. Threads: any.
#pragma once

#include <string>

#include "emulation/faults/fault_script.h"

namespace tandem::emulation {

// Faults of the whole card: it dies, hangs, resets, has less memory or a slow link.
bool is_card_fault(FaultKind kind);
// Logs the fault and performs it, at once or after its delay.
void apply_card_fault(uint32_t index, const FaultRule& rule);
void log_fault(const FaultRule& rule);
// Returns "by the script of faults, line 3".
std::string script_place(const FaultRule& rule);
void report_ecc(uint32_t card, Ecc ecc, uint64_t address);

}  // namespace tandem::emulation
