// SPDX-License-Identifier: Apache-2.0
//
// require_file(): refuses a path that is not a file before it is read, with a text that fits the
// option.
//
// Threads: any. Errors: Error("train", ...) with the path and the system's reason.
#pragma once

#include <string>

namespace tandem::training {

// wanted: what the user should give: "a text, by --text or --valid".
void require_file(const std::string& path, const std::string& wanted);

}  // namespace tandem::training
