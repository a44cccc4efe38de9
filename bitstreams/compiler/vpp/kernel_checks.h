// SPDX-License-Identifier: Apache-2.0
//
// A second, checked copy of a kernel's code in its object: every load, store, array index and
// division calls the emulated card first (drivers/emulation/card/checks).
//
// g++ makes the calls (-fsanitize=kernel-address, bounds, alignment, integer-divide-by-zero); they
// are renamed from __asan_... and __ubsan_... to tandem_check_..., so no sanitizer's own runtime
// takes them. The card starts tandem_checked_<kernel> in place of tandem_kernel_<kernel> when its
// checks are on. Elsewhere the calls reach empty functions in the object. Other compilers make no
// checked copy. Errors: Error("v++", ...). Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::vpp {

// For the compiler, after its other flags.
std::vector<std::string> check_flags();
// Text for the end of one source of each kernel: the empty functions.
std::string check_stubs();
// Joins checked `objects` of `kernels` (names) into one whose only global symbols are the checked
// entries and the functions that the card replaces. Returns its path, in `folder`.
std::string join_checked(const std::vector<std::string>& objects,
                         const std::vector<std::string>& kernels, const std::string& folder);
// The options of objcopy that keep the global symbols of a checked copy.
std::vector<std::string> checked_symbols(const std::vector<std::string>& kernels);

}  // namespace tandem::vpp
