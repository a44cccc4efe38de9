// SPDX-License-Identifier: Apache-2.0
//
// The descriptor is an empty anonymous file; its inode number is the key, so duplicates of it work
// too.
#include "emulation/xrt_shim/buffer_export.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

namespace tandem::emulation {
namespace {

struct Exports {
  std::mutex mutex;
  std::map<ino_t, std::weak_ptr<Allocation>> by_inode;
};

Exports& exports() {
  static auto& instance = *new Exports;
  return instance;
}

}  // namespace

int export_allocation(const std::shared_ptr<Allocation>& memory) {
  const int descriptor = memfd_create("tandem-buffer", MFD_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return -1;
  std::lock_guard lock(exports().mutex);
  exports().by_inode[status.st_ino] = memory;
  return descriptor;
}

std::shared_ptr<Allocation> import_allocation(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return nullptr;
  std::lock_guard lock(exports().mutex);
  const auto found = exports().by_inode.find(status.st_ino);
  return found == exports().by_inode.end() ? nullptr : found->second.lock();
}

bool close_export(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  std::lock_guard lock(exports().mutex);
  exports().by_inode.erase(status.st_ino);
  return close(descriptor) == 0;
}

}  // namespace tandem::emulation
