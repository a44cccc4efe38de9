// SPDX-License-Identifier: Apache-2.0
//
// mkdtemp in the system's folder for temporary files.
#include "bitstreams/vpp/work_folder.h"

#include <cstdlib>
#include <filesystem>

#include "common/error.h"

namespace tandem::vpp {

namespace fs = std::filesystem;

WorkFolder::WorkFolder(const std::string& kept) : path_(kept), keep_(!kept.empty()) {
  std::error_code code;
  if (keep_) {
    fs::create_directories(path_, code);
    if (code) throw Error("v++", "cannot make the folder " + path_ + ": " + code.message());
    return;
  }
  path_ = (fs::temp_directory_path() / "tandem-vpp-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    throw Error("v++", "cannot make a folder in " + fs::temp_directory_path().string());
  }
}

WorkFolder::~WorkFolder() {
  if (keep_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tandem::vpp
