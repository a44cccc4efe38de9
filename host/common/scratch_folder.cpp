// SPDX-License-Identifier: Apache-2.0
//
// mkdtemp() makes it, for this user alone.
#include "common/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/error.h"

namespace tandem {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& module, const std::string& beginning) {
  const bool is_name = beginning.find('/') == std::string::npos;
  std::error_code problem;
  const fs::path parent = is_name ? fs::temp_directory_path(problem) : fs::current_path(problem);
  if (problem) {
    throw Error(module, "cannot make the folder '" + beginning +
                            "XXXXXX': " + (is_name ? "TMPDIR names no folder" : problem.message()));
  }
  std::string path = (parent / (beginning + "XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) {
    throw Error(module, "cannot make the folder '" + path + "': " + std::strerror(errno));
  }
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tandem
