// SPDX-License-Identifier: Apache-2.0
//
// Whether this machine's CPU can run a kernel library, found from the library's bytes alone.
//
// A library without a mark (of an older builder) counts as one without needs. Threads: any. Source:
// bitstreams/compiler/glue/cpu_features.h writes the mark.
#pragma once

#include <string>
#include <string_view>

namespace tandem::emulation {

// Names of the CPU features that `library`, the bytes of the shared object, needs and this CPU
// lacks, with blanks between; empty when it can run.
std::string missing_cpu_features(std::string_view library);

}  // namespace tandem::emulation
