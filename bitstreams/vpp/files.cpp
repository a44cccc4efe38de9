// SPDX-License-Identifier: Apache-2.0
//
// Standard streams; failures are told from errno where it helps.
#include "bitstreams/vpp/files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/error.h"

namespace tandem::vpp {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || fs::is_directory(path)) throw Error("v++", "cannot read " + path);
  text << in.rdbuf();
  return text.str();
}

void make_parent(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return;
  std::error_code code;
  fs::create_directories(parent, code);
  if (code) {
    throw Error("v++", "cannot make the folder " + parent.string() + ": " + code.message());
  }
}

void write_text(const std::string& path, std::string_view text) {
  make_parent(path);
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::error_code code;
  if (out) fs::rename(temporary, path, code);
  if (!out || code) {
    fs::remove(temporary, code);
    throw Error("v++", "cannot write " + path + ": check that the folder is writable and has room");
  }
}

}  // namespace tandem::vpp
