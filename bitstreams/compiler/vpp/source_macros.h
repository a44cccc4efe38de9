// SPDX-License-Identifier: Apache-2.0
//
// The macros without parameters that are defined at the end of a preprocessed kernel source, by
// name.
//
// Pragmas name macros, as in `#pragma HLS stream depth=DEPTH`, but the preprocessor does not expand
// them there. Needs the files of preprocess() for the same job. Cost: a preprocessor run. Errors:
// Error with the compiler's messages.
#pragma once

#include <map>
#include <string>

#include "bitstreams/compiler/vpp/kernel_source.h"

namespace tandem::vpp {

std::map<std::string, std::string> source_macros(const PreprocessJob& job);

}  // namespace tandem::vpp
