// SPDX-License-Identifier: Apache-2.0
//
// Kernel objects (.xo): a relocatable ELF object that exports only tandem_kernel_<name> per kernel.
// The section ".tandem.kernel" (JSON) describes its kernels.
//
// Kind, sizes and offsets of arguments follow from their types and are in the linked library. The
// section has the facts that only the source states. Reading checks every offset and count before
// use. Errors: Error("v++", ...) naming the file. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::vpp {

constexpr int kKernelObjectVersion = 1;
constexpr const char* kKernelSection = ".tandem.kernel";

struct ArgumentDescription {
  std::string name;
  std::string bundle;  // the bundle of the argument's m_axi port; "gmem" by default
  // OpenCL C only (opencl_c/compile.h):
  std::string type;     // as in the source; empty: the compiled type's spelling
  bool local = false;   // __local memory
  bool hidden = false;  // set by the runtime, without an index
  std::string pipe;     // the program-scope pipe of this argument
  bool writes = false;  // whether the kernel writes to that pipe
};

enum class Mailbox : uint8_t { kNone, kIn, kOut, kBoth };

struct KernelDescription {
  std::string name;
  std::string source;
  std::string language = "c";  // "c" or "clc"
  xclbin::Control control = xclbin::Control::kChain;
  std::vector<ArgumentDescription> arguments;
  uint32_t restart_counters = 0;  // countedAutoRestart
  Mailbox mailbox = Mailbox::kNone;
  bool software_reset = false;
  std::array<uint32_t, 3> required_group = {1, 1, 1};  // OpenCL C; 0 0 0: any
  std::array<uint32_t, 3> maximum_group = {1, 1, 1};   // OpenCL C; 0: any
};

// The section's text.
std::string describe_kernels(const std::vector<KernelDescription>& kernels);
// Reads a kernel object's bytes; `file_name` for messages.
std::vector<KernelDescription> read_kernel_object(std::span<const std::byte> bytes,
                                                  const std::string& file_name);

// The options of objcopy that keep what a card looks up by name.
std::vector<std::string> plain_symbols(const std::vector<std::string>& kernels);

// Makes the kernel object `output` of compiled `objects`. All symbols but the kernels' exports
// become local, so that objects whose functions share names link together. `folder`: for
// intermediate files. `checked`: the objects of the checked copy (kernel_checks.h), or none.
// `timed`: the objects of the copy with counters (timed_copy.h), or none.
void write_kernel_object(const std::vector<std::string>& objects,
                         const std::vector<KernelDescription>& kernels, const std::string& folder,
                         const std::string& output, const std::vector<std::string>& checked = {},
                         const std::vector<std::string>& timed = {});

}  // namespace tandem::vpp
