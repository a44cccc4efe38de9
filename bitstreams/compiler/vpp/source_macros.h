// SPDX-License-Identifier: Apache-2.0
//
// The macros without parameters that a preprocessed kernel source ended with, by name.
//
// Pragmas name macros, as in `#pragma HLS stream depth=DEPTH`, but the preprocessor leaves pragmas
// as they are. Needs the files of preprocess() for the same job. Cost: a preprocessor run. Errors:
// Error with the compiler's messages.
#pragma once

#include <map>
#include <string>

#include "bitstreams/compiler/vpp/kernel_source.h"

namespace tandem::vpp {

std::map<std::string, std::string> source_macros(const PreprocessJob& job);

}  // namespace tandem::vpp
