// SPDX-License-Identifier: Apache-2.0
//
// A file system that cannot sync a folder (EINVAL) keeps its own order; this is not an error.
#include "training/trainer/file_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace tandem::training {
namespace {

void sync_path(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = file >= 0 && (::fsync(file) == 0 || errno == EINVAL);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!synced) throw Error("train", "cannot write '" + path + "': " + std::strerror(error));
}

}  // namespace

void sync_file(const std::string& path) { sync_path(path, O_RDONLY); }
void sync_folder(const std::string& path) { sync_path(path, O_RDONLY | O_DIRECTORY); }

}  // namespace tandem::training
