// SPDX-License-Identifier: Apache-2.0
//
// Puts the usual case of a check into the checked copy's own code: before each call that checks an
// access, a look at the shadow byte of its address, which skips the call if nothing is to be found.
//
// The shadow is that of the card (drivers/emulation/card/checks/local_memory.h). The library's word
// tandem_check_mask switches the skipping off (0) and on (all ones). Input: the compiler's assembly
// for x86-64 in AT&T syntax; other text is returned unchanged. The added code changes only
// registers that the call may change as well. Cost: linear. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

// Where the shadow begins; also for -fasan-shadow-offset.
constexpr const char* kShadowOffsetText = "0x7fff8000";

std::string inline_checks(std::string_view assembly);

}  // namespace tandem::vpp
