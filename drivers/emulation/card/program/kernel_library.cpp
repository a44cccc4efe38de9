// SPDX-License-Identifier: Apache-2.0
//
// Copies the ELF into a fresh anonymous file and opens that, since the loader tells libraries apart
// by file.
#include "emulation/card/program/kernel_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>

#include "emulation/card/program/cpu_features.h"

namespace tandem::emulation {
namespace {

[[noreturn]] void refuse_kernels(const std::string& what, int code) {
  throw std::runtime_error("cannot " + what + " the kernels: " + std::strerror(code));
}

int copy_of(int elf) {
  struct stat status {};
  const int copy = memfd_create("tandem-kernel", MFD_CLOEXEC);
  if (copy < 0 || fstat(elf, &status) != 0) refuse_kernels("copy", errno);
  off_t offset = 0;
  while (offset < status.st_size) {
    const auto rest = static_cast<size_t>(status.st_size - offset);
    const ssize_t copied = sendfile(copy, elf, &offset, rest);
    if (copied > 0) continue;
    const int code = copied < 0 ? errno : EIO;
    close(copy);
    refuse_kernels("copy", code);
  }
  return copy;
}

// Throws when this CPU lacks instructions of the library, before any of them runs.
void check_cpu(int elf) {
  struct stat status {};
  if (fstat(elf, &status) != 0 || status.st_size <= 0) return;
  const auto size_bytes = static_cast<size_t>(status.st_size);
  void* const bytes = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, elf, 0);
  if (bytes == MAP_FAILED) refuse_kernels("read", errno);
  const std::string missing = missing_cpu_features({static_cast<const char*>(bytes), size_bytes});
  munmap(bytes, size_bytes);
  if (missing.empty()) return;
  throw std::runtime_error("the bitstream was built for a CPU with " + missing +
                           ", which this machine's CPU does not have; build the kernels with v++ "
                           "here, or for any machine with TANDEM_KERNEL_FLAGS=-march=x86-64");
}

}  // namespace

KernelLibrary::KernelLibrary(int elf, const std::string& kernel, KernelCopy copy)
    : descriptor_(copy_of(elf)), copy_(copy) {
  try {
    check_cpu(descriptor_);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  handle_ = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* message = dlerror();
    close(descriptor_);
    throw std::runtime_error(std::string("cannot load the kernels: ") +
                             (message ? message : "unknown error"));
  }
  entry_ = find_entry(kernel);
  if (entry_ == nullptr || entry_->version != tandem_glue::kEntryVersion) {
    unload();
    throw std::runtime_error(entry_ == nullptr ? "the bitstream holds no kernel '" + kernel + "'"
                                               : "kernel '" + kernel +
                                                     "' was built for another version; rebuild it");
  }
}

const tandem_glue::KernelEntry* KernelLibrary::find_entry(const std::string& kernel) {
  using Getter = const tandem_glue::KernelEntry* (*)();
  const auto find = [this](const std::string& name) { return dlsym(handle_, name.c_str()); };
  void* getter = nullptr;
  if (copy_ == KernelCopy::kChecked) getter = find("tandem_checked_" + kernel);
  if (getter != nullptr && find("tandem_checked_mask") == nullptr) {
    getter = nullptr;                   // its shadow is elsewhere
    static std::set<std::string> told;  // not by each unit
    if (told.insert(kernel).second) {
      std::fprintf(stderr,
                   "tandem-card: kernel '%s' was compiled by an earlier v++ and is not checked; "
                   "compile it again\n",
                   kernel.c_str());
    }
  }
  if (copy_ == KernelCopy::kCounting) getter = find("tandem_timed_" + kernel);
  if (getter == nullptr) copy_ = KernelCopy::kPlain;
  // The initialisers of the checked copy.
  if (checked()) {
    follows_values_ = find("tandem_checked_follows") != nullptr;
    skip_mask_ = reinterpret_cast<uint64_t* (*)()>(find("tandem_checked_mask"))();
    reinterpret_cast<void (*)()>(find("tandem_checked_begin"))();
  }
  if (copy_ == KernelCopy::kPlain) {
    getter = find("tandem_kernel_" + kernel);
    coverage_ = reinterpret_cast<void (*)()>(find("tandem_coverage_" + kernel));
  }
  if (copy_ == KernelCopy::kCounting) {
    counting_ = {static_cast<const char*>(find("tandem_time_model_" + kernel)),
                 static_cast<uint64_t*>(find("tandem_time_counts_" + kernel)),
                 static_cast<timing::SiteRecord*>(find("tandem_time_sites_" + kernel))};
  }
  const auto* const clock = static_cast<const double*>(find("tandem_rtl_clock_" + kernel));
  if (clock != nullptr) rtl_clock_mhz_ = *clock;
  return getter == nullptr ? nullptr : reinterpret_cast<Getter>(getter)();
}

KernelLibrary::~KernelLibrary() { unload(); }

void KernelLibrary::write_coverage() const {
  if (coverage_ != nullptr) coverage_();
}

CodeRange KernelLibrary::code() const {
  struct Search {
    const link_map* library = nullptr;
    CodeRange found;
  } search;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &search.library) != 0) return {};
  const auto visit = [](dl_phdr_info* info, size_t, void* argument) {
    Search& search = *static_cast<Search*>(argument);
    if (info->dlpi_addr != search.library->l_addr) return 0;
    for (int index = 0; index < info->dlpi_phnum; ++index) {
      const auto& segment = info->dlpi_phdr[index];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
      search.found = {begin, begin + segment.p_memsz};
    }
    return 1;
  };
  dl_iterate_phdr(visit, &search);
  return search.found;
}

std::unique_ptr<KernelLibrary> KernelLibrary::load_again() const {
  return std::make_unique<KernelLibrary>(descriptor_, entry_->name, copy_);
}

// Named by process id, so that a debugger can open it too.
std::string KernelLibrary::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

void KernelLibrary::unload() {
  dlclose(handle_);
  // The loader may keep a library, for thread-local destructors; then it keeps its path too.
  void* kept = dlopen(path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (kept == nullptr) close(descriptor_);
}

}  // namespace tandem::emulation
