// SPDX-License-Identifier: Apache-2.0
//
// Uses mkdtemp in the system's folder for temporary files.
#include "bitstreams/compiler/vpp/work_folder.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/error.h"

namespace tandem::vpp {

namespace fs = std::filesystem;

std::string kept_folder(const std::string& temp_dir, const std::string& stage,
                        const std::string& output) {
  uint32_t hash = 0x811c9dc5;  // FNV-1a
  for (const char c : fs::absolute(output).lexically_normal().string()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  }
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08x", hash);
  return temp_dir + "/" + stage + "/" + fs::path(output).stem().string() + "-" + digits;
}

WorkFolder::WorkFolder(const std::string& kept) : path_(kept), keep_(!kept.empty()) {
  std::error_code code;
  if (keep_) {
    fs::create_directories(path_, code);
    if (code) throw Error("v++", "cannot make the folder " + path_ + ": " + code.message());
    return;
  }
  const fs::path base = fs::temp_directory_path(code);
  if (code)
    throw Error("v++", "there is no folder for temporary files: set TMPDIR to an existing one");
  path_ = (base / "tandem-vpp-XXXXXX").string();
  guard_ = std::make_unique<xclbin::RemovedOnInterruption>([&]() -> fs::path {
    if (mkdtemp(path_.data()) != nullptr) return path_;
    throw Error("v++", "cannot make a folder in " + base.string());
  });
}

WorkFolder::~WorkFolder() {
  if (keep_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tandem::vpp
