// SPDX-License-Identifier: Apache-2.0
//
// Adds a second, checked copy of a kernel's code to its object: each load, store, array index and
// division first calls the emulated card (drivers/emulation/card/checks).
//
// g++ generates the calls (-fsanitize=kernel-address, bounds, alignment, integer-divide-by-zero).
// They are renamed from __asan_... and __ubsan_... to tandem_check_..., so that no sanitizer
// runtime receives them. If its checks are on, the card starts tandem_checked_<kernel> instead of
// tandem_kernel_<kernel>. Without a card the calls go to empty functions in the object. Kernels of
// OpenCL C have the copy by clang; C++ has none with other compilers. Errors: Error("v++", ...).
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/opencl_c/compile.h"

namespace tandem::vpp {

// The compiler flags for the checked copy; they follow all others.
std::vector<std::string> check_flags();
// The same for clang, which compiles OpenCL C: for accesses, and for what only its front end sees.
std::vector<std::string> opencl_check_flags();
std::vector<std::string> opencl_source_flags();
// Further flags, with which loops also get a version without checks (loop_checks/loop_version.h),
// if g++ can load the plugin.
std::vector<std::string> loop_flags(const std::string& plugin);
// The same for clang: when it optimises, and when it makes the code that follows.
opencl_c::LoopFlags opencl_loop_flags(const std::string& plugin);
// The empty functions, as text for the end of one source of each kernel. `follows_values`: the
// plugin compiles it.
std::string check_stubs(bool follows_values);
// Joins checked `objects` of `kernels` (names) into one whose only global symbols are the checked
// entries and the functions that the card replaces. Returns its path, in `folder`.
std::string join_checked(const std::vector<std::string>& objects,
                         const std::vector<std::string>& kernels, const std::string& folder);
// The options of objcopy that keep the global symbols of a checked copy.
std::vector<std::string> checked_symbols(const std::vector<std::string>& kernels);

}  // namespace tandem::vpp
