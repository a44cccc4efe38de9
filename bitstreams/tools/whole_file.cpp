// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing of whole files.
#include "bitstreams/tools/whole_file.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace tandem::xclbin {

std::vector<std::byte> read_whole_file(const std::string& path, uint64_t max_bytes) {
  std::error_code code;
  const uint64_t size = std::filesystem::file_size(path, code);
  if (code) throw Error("file", path + ": cannot open the file: " + code.message());
  if (size > max_bytes) {
    throw Error("file", path + ": is larger than " + std::to_string(max_bytes) + " bytes");
  }
  std::vector<std::byte> bytes(size);
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!in) throw Error("file", path + ": cannot read the file");
  return bytes;
}

void write_whole_file(const std::string& path, std::span<const std::byte> bytes, bool force) {
  std::error_code code;
  if (!force && std::filesystem::exists(path, code)) {
    throw Error("file", path + ": exists already; --force replaces it");
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw Error("file", "cannot write " + path + ": check that the folder exists and has room");
  }
}

void write_whole_file(const std::string& path, const std::string& text, bool force) {
  write_whole_file(path, std::as_bytes(std::span(text.data(), text.size())), force);
}

}  // namespace tandem::xclbin
