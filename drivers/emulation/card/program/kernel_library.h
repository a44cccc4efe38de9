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
#include "bitstreams/compiler/timing/run_counts.h"
#include "emulation/card/units/thread_end.h"

namespace tandem::emulation {

enum class KernelCopy : uint8_t { kPlain, kChecked, kCounting };

class KernelLibrary {
 public:
  // The data for the time model (bitstreams/compiler/timing/instrument.h), in memory of the
  // library.
  struct CountingCopy {
    const char* model = nullptr;
    uint64_t* counters = nullptr;
    timing::SiteRecord* sites = nullptr;
  };
  // `elf`: descriptor of the shared object (read, not owned). `kernel`: name of the kernel to look
  // up. `copy`: takes this copy of the kernel, if it has one.
  KernelLibrary(int elf, const std::string& kernel, KernelCopy copy = KernelCopy::kPlain);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const tandem_glue::KernelEntry& entry() const { return *entry_; }
  bool checked() const { return copy_ == KernelCopy::kChecked; }
  // A word of a checked copy, see RunChecks::Unit; null for others.
  uint64_t* skip_mask() const { return skip_mask_; }
  // Whether the checked copy follows values that may be missing (loop_checks of v++).
  bool follows_values() const { return follows_values_; }
  // For a copy that counts; null pointers for others.
  const CountingCopy& counting() const { return counting_; }
  // The clock of an RTL kernel, which counts its own cycles; 0 for other kernels.
  double rtl_clock_mhz() const { return rtl_clock_mhz_; }
  // Adds what ran to the files of gcov, if the kernel was compiled for it (vpp/kernel_coverage.h).
  void write_coverage() const;
  // The memory range of the library's instructions.
  CodeRange code() const;
  // Loads the same kernel again, as a separate copy.
  std::unique_ptr<KernelLibrary> load_again() const;

 private:
  std::string path() const;
  void unload();
  const tandem_glue::KernelEntry* find_entry(const std::string& kernel);

  int descriptor_ = -1;
  KernelCopy copy_ = KernelCopy::kPlain;
  CountingCopy counting_;
  uint64_t* skip_mask_ = nullptr;
  bool follows_values_ = false;
  void (*coverage_)() = nullptr;
  double rtl_clock_mhz_ = 0;
  void* handle_ = nullptr;
  const tandem_glue::KernelEntry* entry_ = nullptr;
};

}  // namespace tandem::emulation
