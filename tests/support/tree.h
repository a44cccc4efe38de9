// SPDX-License-Identifier: Apache-2.0
//
// Where the source tree and the build tree lie, for tests that read files from them. The paths are
// compiled into one small library, so that test objects do not depend on where the tree stands and
// compiler caches can share them.
#pragma once

#include <filesystem>

namespace tandem::test {

const std::filesystem::path& source_dir();
const std::filesystem::path& binary_dir();

}  // namespace tandem::test
