// SPDX-License-Identifier: Apache-2.0
//
// Dependency files as compilers write them for make: "target: path path \<newline> path".
//
// Blanks and '#' in paths stand behind a backslash, '$' is doubled. Errors: none; text that is no
// such file gives whatever words it holds. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::xclbin {

// The paths the targets depend on, without escapes.
std::vector<std::string> parse_depfile(const std::string& text);
// `path` as it is to be written into such a file.
std::string escape_for_make(const std::string& path);

}  // namespace tandem::xclbin
