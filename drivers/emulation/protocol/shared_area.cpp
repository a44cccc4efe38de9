// SPDX-License-Identifier: Apache-2.0
//
// The mapping is between two inaccessible guard pages, so an access beyond either end faults.
#include "emulation/protocol/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tandem::emulation {
namespace {

// Wide, since an overrun may step over many pages.
constexpr uint64_t kGuardBytes = uint64_t{64} << 20;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(),
                          std::string("emulated card: cannot ") + what);
}

}  // namespace

SharedArea SharedArea::create(const char* name, uint64_t size_bytes, uint64_t reserved_bytes) {
  SharedArea area;
  area.reserved_bytes_ = reserved_bytes;
  area.descriptor_ = memfd_create(name, MFD_CLOEXEC);
  area.size_bytes_ = size_bytes;
  if (area.descriptor_ < 0) fail("make a shared memory area");
  if (ftruncate(area.descriptor_, static_cast<off_t>(size_bytes)) != 0)
    fail("size a shared memory area");
  area.map("map a shared memory area", area.descriptor_, 0);
  return area;
}

SharedArea SharedArea::adopt(int descriptor, uint64_t size_bytes) {
  SharedArea area;
  area.descriptor_ = descriptor;
  area.size_bytes_ = size_bytes;
  area.map("map a received memory area", descriptor, 0);
  return area;
}

SharedArea SharedArea::window(int descriptor, uint64_t offset, uint64_t size_bytes) {
  SharedArea area;
  area.size_bytes_ = size_bytes;
  area.map("map a part of a received memory area", descriptor, offset);
  return area;
}

void SharedArea::map(const char* what, int descriptor, uint64_t offset) {
  reserved_bytes_ = std::max(reserved_bytes_, kGuardBytes);
  void* reserved = mmap(nullptr, kGuardBytes + size_bytes_ + reserved_bytes_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) fail(what);
  void* at = static_cast<std::byte*>(reserved) + kGuardBytes;
  void* mapped =
      mmap(at, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           descriptor, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    const int code = errno;
    munmap(reserved, kGuardBytes + size_bytes_ + reserved_bytes_);
    errno = code;
    fail(what);
  }
  data_ = static_cast<std::byte*>(mapped);
  madvise(data_, size_bytes_, MADV_DONTDUMP);
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

SharedArea& SharedArea::operator=(SharedArea&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

SharedArea::~SharedArea() {
  if (data_ != nullptr) munmap(data_ - kGuardBytes, kGuardBytes + size_bytes_ + reserved_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedArea::discard(uint64_t offset, uint64_t size_bytes) const {
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size_bytes));
}

}  // namespace tandem::emulation
