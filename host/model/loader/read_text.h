// SPDX-License-Identifier: Apache-2.0
//
// read_text(): reads a text file within a size limit.
//
// Reads nothing of a file that is longer than the limit. Threads: any; pure functions. Errors:
// Error("model", "FILE: ...") if the file is not regular, cannot be read or is too long.
#pragma once

#include <cstddef>
#include <string>

namespace tandem::model {

std::string read_text(const std::string& path, std::size_t max_bytes);

}  // namespace tandem::model
