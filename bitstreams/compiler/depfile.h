// SPDX-License-Identifier: Apache-2.0
//
// Dependency files that compilers write for make: "target: path path \<newline> path".
//
// A backslash precedes blanks and '#' in paths; '$' is doubled. Errors: none; every word of a text
// in another form counts as a path. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::xclbin {

// The paths the targets depend on, without escapes.
std::vector<std::string> parse_depfile(const std::string& text);
// Returns `path`, escaped for a dependency file.
std::string escape_for_make(const std::string& path);

}  // namespace tandem::xclbin
