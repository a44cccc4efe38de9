// SPDX-License-Identifier: Apache-2.0
//
// Decides from the bytes of a kernel library whether this machine's CPU can run it.
//
// A library without a mark (made by an older compiler) counts as one without requirements. Threads:
// any. Source: bitstreams/compiler/glue/cpu_features.h writes the mark.
#pragma once

#include <string>
#include <string_view>

namespace tandem::emulation {

// Returns the CPU features that `library` (the bytes of the shared object) needs and this CPU
// lacks, separated by blanks. Empty if the CPU can run it.
std::string missing_cpu_features(std::string_view library);

}  // namespace tandem::emulation
