// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out. Outputs are written beside their place and renamed into it, so that a
// reader finds the old file, the new one, or none.
//
// Errors: Error("v++", ...) naming the file. Threads: any, with different paths.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

std::string read_text(const std::string& path);
void write_text(const std::string& path, std::string_view text);
// Makes the folder `path` shall lie in.
void make_parent(const std::string& path);

}  // namespace tandem::vpp
