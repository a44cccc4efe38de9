// SPDX-License-Identifier: Apache-2.0
//
// One compute unit's copy of the kernel code: a private load of the ELF, so that units share no
// static variables.
//
// Errors: std::runtime_error with the loader's message. Threads: made and destroyed by the card's
// main thread.
#pragma once

#include <memory>
#include <string>

#include "bitstreams/compiler/glue/kernel_entry.h"
#include "emulation/card/units/thread_end.h"

namespace tandem::emulation {

class KernelLibrary {
 public:
  // `elf`: descriptor of the shared object (read, not owned). `kernel`: name of the kernel to look
  // up. `checked`: takes the kernel's checked copy, if it has one.
  KernelLibrary(int elf, const std::string& kernel, bool checked = false);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const tandem_glue::KernelEntry& entry() const { return *entry_; }
  bool checked() const { return checked_; }
  // The memory range of the library's instructions.
  CodeRange code() const;
  // Loads the same kernel again, as a separate copy.
  std::unique_ptr<KernelLibrary> load_again() const;

 private:
  std::string path() const;
  void unload();
  const tandem_glue::KernelEntry* find_entry(const std::string& kernel);

  int descriptor_ = -1;
  bool checked_ = false;
  void* handle_ = nullptr;
  const tandem_glue::KernelEntry* entry_ = nullptr;
};

}  // namespace tandem::emulation
