// SPDX-License-Identifier: Apache-2.0
//
// read_text(): a text file within a limit.
//
// Nothing is copied of a file that is longer than the limit. Threads: any; pure functions.
// Errors: Error("model", "FILE: ...") on what is no regular file, cannot be read or is too long.
#pragma once

#include <cstddef>
#include <string>

namespace tandem::model {

std::string read_text(const std::string& path, std::size_t max_bytes);

}  // namespace tandem::model
