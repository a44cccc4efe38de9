// SPDX-License-Identifier: Apache-2.0
//
// Reads signatures of kernels from clang's output, the text form of LLVM's intermediate language.
//
// The metadata of -cl-kernel-arg-info gives the arguments and the required group. The calls in a
// kernel, followed recursively, show whether it calls work-item functions, and which pipes it reads
// and writes. The lines have the same form in LLVM 14 to 19. Errors: Error naming what is missing.
// Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::opencl_c {

enum class AddressSpace : std::uint32_t { kPrivate = 0, kGlobal = 1, kConstant = 2, kLocal = 3 };

struct SourceArgument {
  std::string name;
  std::string type;  // as in the source: "float4*"
  AddressSpace space = AddressSpace::kPrivate;
};

struct KernelSignature {
  std::string name;
  std::vector<SourceArgument> arguments;
  std::array<std::uint32_t, 3> required_group = {0, 0, 0};
  bool uses_work_items = false;  // whether the kernel calls a work-item function or a barrier
  std::map<std::uint32_t, bool> pipes;  // number of a pipe -> whether the kernel writes it
};

struct ModuleDescription {
  std::vector<KernelSignature> kernels;  // in the order of the source
  std::vector<std::uint32_t> pipe_bytes;
};

ModuleDescription describe_module(const std::string& llvm_text, const std::string& file);

}  // namespace tandem::opencl_c
