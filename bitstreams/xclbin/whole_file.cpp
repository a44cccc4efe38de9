// SPDX-License-Identifier: Apache-2.0
//
// Uses standard streams, and a rename if a file is replaced.
#include "bitstreams/xclbin/whole_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bitstreams/xclbin/interruption.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

namespace fs = std::filesystem;

// Devices and descriptors have their own names, which must outlive the call.
bool is_written_in_place(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) return false;
  const std::string name = fs::absolute(path, code).lexically_normal().string();
  return !fs::is_regular_file(status) || name.starts_with("/dev/") || name.starts_with("/proc/");
}

// The target of a link, so that the link itself stays.
fs::path place_of(const std::string& path) {
  std::error_code code;
  if (!fs::is_symlink(path, code)) return path;
  const fs::path target = fs::canonical(path, code);
  return code ? fs::path(path) : target;
}

bool write_to(std::ofstream& out, std::string_view text) {
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  return !out.fail();
}

bool write_in_place(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  return write_to(out, text);
}

bool replace(const fs::path& place, std::string_view text) {
  const fs::path temporary = place.string() + ".tmp" + std::to_string(getpid());
  std::ofstream out;
  const RemovedOnInterruption guard([&] {
    out.open(temporary, std::ios::binary | std::ios::trunc);
    return temporary;
  });
  std::error_code code;
  if (write_to(out, text)) {
    fs::rename(temporary, place, code);
    if (!code) return true;
  }
  fs::remove(temporary, code);
  return false;
}

}  // namespace

std::string read_text(const std::string& path, uint64_t max_bytes) {
  std::error_code code;
  if (fs::is_directory(path, code)) throw Error("file", path + ": is a folder, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const bool missing = !fs::exists(path, code);
    throw Error("file", path + (missing ? ": the file does not exist" : ": cannot open the file"));
  }
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof(buffer)) || in.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      throw Error("file", path + ": is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
  if (in.bad()) throw Error("file", path + ": cannot read the file");
  return text;
}

std::vector<std::byte> read_bytes(const std::string& path, uint64_t max_bytes) {
  const std::string text = read_text(path, max_bytes);
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

void make_parent(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return;
  std::error_code code;
  fs::create_directories(parent, code);
  if (code) {
    throw Error("file", "cannot write into the folder " + parent.string() + ": " + code.message());
  }
}

void write_text(const std::string& path, std::string_view text, bool may_replace) {
  std::error_code code;
  const bool in_place = is_written_in_place(path);
  if (!may_replace && !in_place && fs::exists(path, code)) {
    throw Error("file", path + ": exists already; --force replaces it");
  }
  make_parent(path);
  if (in_place ? write_in_place(path, text) : replace(place_of(path), text)) return;
  throw Error("file", "cannot write " + path + ": check that the folder is writable and has room");
}

void write_bytes(const std::string& path, std::span<const std::byte> bytes, bool may_replace) {
  write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, may_replace);
}

}  // namespace tandem::xclbin
