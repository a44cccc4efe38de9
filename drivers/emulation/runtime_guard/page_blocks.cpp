// SPDX-License-Identifier: Apache-2.0
//
// posix_memalign() and aligned_alloc() for whole pages: blocks that begin at a page end with one.
//
// XRT and programs allocate host copies of buffers so. The shim watches these by closing pages
// (host_watch.h), and no other block may be in a page that it closes. Where no variable asks for
// checks, nothing changes. The blocks themselves are the next library's (the C library's), which
// frees them. A program that loads this library late, as Python does, has the C library first in
// its order of symbols; Debian's library gets the functions here all the same. Threads: any.
#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "emulation/runtime_guard/call_table.h"

namespace {

constexpr std::size_t kPageBytes = 4096;

std::mutex blocks_mutex;

// Block to size, also of blocks that were freed: another block at a page's begin replaces them.
std::map<std::uintptr_t, std::size_t>& page_blocks() {
  static auto& blocks = *new std::map<std::uintptr_t, std::size_t>;
  return blocks;
}

// Asked each time: a program may set the variables itself.
bool may_watch(std::size_t alignment) {
  return alignment % kPageBytes == 0 &&
         (std::getenv("TANDEM_CHECKS") != nullptr || std::getenv("TANDEM_CARD_REPORT") != nullptr);
}

std::size_t rounded(std::size_t size) {
  if (size > SIZE_MAX - kPageBytes) return size;
  return (size + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Cleared, so that what an earlier block left is not taken for a change by the program.
void keep_block(void* block, std::size_t size) {
  if (block == nullptr) return;
  std::memset(block, 0, size);
  const std::lock_guard<std::mutex> lock(blocks_mutex);
  page_blocks()[reinterpret_cast<std::uintptr_t>(block)] = size;
}

template <typename Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// aligned_alloc(). Of the exported function even this library may not have the address: its own
// name for it may stand for the C library's.
void* allocate_aligned(std::size_t alignment, std::size_t size) {
  static auto* const next = next_function<void*(std::size_t, std::size_t)>("aligned_alloc");
  if (!may_watch(alignment)) return next(alignment, size);
  const std::size_t whole = rounded(size);
  void* const block = next(alignment, whole);
  keep_block(block, whole);
  return block;
}

// Debian's library, which is loaded before this one, allocates by aligned_alloc().
__attribute__((constructor)) void take_calls_of_debian() {
  void* const library = dlopen(TANDEM_XRT_COREUTIL, RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
  tandem::emulation::replace_calls(*map, "aligned_alloc",
                                   reinterpret_cast<void*>(&allocate_aligned));
}

}  // namespace

extern "C" {

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  static auto* const next = next_function<int(void**, std::size_t, std::size_t)>("posix_memalign");
  if (!may_watch(alignment)) return next(block, alignment, size);
  const std::size_t whole = rounded(size);
  const int code = next(block, alignment, whole);
  if (code == 0) keep_block(*block, whole);
  return code;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return allocate_aligned(alignment, size);
}

// Whether all pages of [begin, +size) belong to a block that begins there.
bool tandem_owns_pages(const void* begin, std::size_t size) {
  const std::lock_guard<std::mutex> lock(blocks_mutex);
  const auto found = page_blocks().find(reinterpret_cast<std::uintptr_t>(begin));
  return found != page_blocks().end() && found->second >= rounded(size);
}
}
