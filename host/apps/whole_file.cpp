// SPDX-License-Identifier: Apache-2.0
//
// O_TMPFILE if there is one, else O_EXCL and O_NOFOLLOW.
#include "apps/whole_file.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;
constexpr mode_t kMode = 0666;  // less the umask

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

const char* kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a folder; name the file to write";
    case fs::file_type::fifo:
      return "a FIFO, not a regular file";
    case fs::file_type::socket:
      return "a socket, not a regular file";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device, not a regular file";
    default:
      return "not a regular file";
  }
}

}  // namespace

WholeFile::WholeFile(std::string module, std::string path)
    : module_(std::move(module)), path_(std::move(path)) {
  open();
}

WholeFile::~WholeFile() {
  if (file_ >= 0) ::close(file_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

std::string WholeFile::random_name() const {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}.partial", path_, random(), random());
}

void WholeFile::open() {
  file_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (file_ >= 0) return;
  for (int attempt = 0; file_ < 0 && attempt < kAttempts; ++attempt) {
    partial_ = random_name();
    file_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ >= 0) return;
  partial_.clear();
  fail(errno);
}

std::string WholeFile::open_path() const { return "/proc/self/fd/" + std::to_string(file_); }

void WholeFile::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(count);
  }
}

// A file without a name cannot replace another one, so it gets a random one first.
bool WholeFile::make_named() {
  for (int attempt = 0; partial_.empty() && attempt < kAttempts; ++attempt) {
    const std::string name = random_name();
    if (::linkat(AT_FDCWD, open_path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      partial_ = name;
    } else if (errno != EEXIST) {
      return false;
    }
  }
  return !partial_.empty();
}

void WholeFile::keep() {
  if (::fsync(file_) != 0 || !make_named() || ::rename(partial_.c_str(), path_.c_str()) != 0) {
    fail(errno);
  }
  partial_.clear();
}

void WholeFile::fail(int error) const {
  throw Error(module_, "cannot write '" + path_ + "': " + std::strerror(error));
}

std::string regular_target(const std::string& module, const std::string& path) {
  std::error_code error;
  const fs::file_status itself = fs::symlink_status(path, error);
  if (itself.type() == fs::file_type::not_found) return path;
  const fs::file_status target = fs::status(path, error);
  if (target.type() == fs::file_type::not_found) {
    throw Error(
        module,
        "'" + path + "' is a link whose target does not exist; remove it, or name another path");
  }
  if (target.type() != fs::file_type::regular) {
    throw Error(module, "'" + path + "' is " + kind_of(target.type()));
  }
  const fs::path resolved = fs::canonical(path, error);
  if (error) throw Error(module, "cannot find '" + path + "': " + error.message());
  return resolved.string();
}

}  // namespace tandem::apps
