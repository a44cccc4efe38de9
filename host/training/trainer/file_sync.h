// SPDX-License-Identifier: Apache-2.0
//
// Waits until a file, or the names in a folder, are on disk.
//
// Threads: any. Errors: Error("train", ...) with the system's reason.
#pragma once

#include <string>

namespace tandem::training {

void sync_file(const std::string& path);
void sync_folder(const std::string& path);

}  // namespace tandem::training
