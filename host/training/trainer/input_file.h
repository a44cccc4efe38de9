// SPDX-License-Identifier: Apache-2.0
//
// Refuses what is no file before it is read, by the words of who asked for it.
//
// Threads: any. Errors: Error("train", ...) naming the path and the system's reason.
#pragma once

#include <string>

namespace tandem::training {

// wanted: what a user should name: "a text, by --text or --valid".
void require_file(const std::string& path, const std::string& wanted);

}  // namespace tandem::training
