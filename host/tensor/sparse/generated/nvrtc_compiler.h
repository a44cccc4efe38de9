// SPDX-License-Identifier: Apache-2.0
//
// NvrtcCompiler: compiles generated CUDA sources for a GPU's architecture, by the NVRTC library of
// the machine, which is loaded at run time. Needs no GPU.
//
// Threads: any. Errors: Error from compile() with the compiler's messages; a machine without NVRTC
// is usual: reason() tells.
#pragma once

#include <string>
#include <string_view>

#include "common/loaded_library.h"
#include "tensor/sparse/generated/kernel_pattern.h"

namespace tandem::sparse {

struct CompiledCuda {
  std::string code;      // a cubin, to be loaded by the driver
  std::string messages;  // registers and spills, if the compiler tells them
};

class NvrtcCompiler {
 public:
  NvrtcCompiler();

  // Empty if it can compile.
  const std::string& reason() const { return library_.reason(); }

  // architecture: such as "sm_90".
  CompiledCuda compile(const KernelPattern& pattern, std::string_view architecture) const;
  CompiledCuda compile_source(const std::string& source, std::string_view architecture) const;

 private:
  using Program = struct NvrtcProgram*;
  std::string log_of(Program program) const;

  LoadedLibrary library_;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy_)(Program*);
  int (*compile_)(Program, int, const char* const*);
  int (*log_size_)(Program, std::size_t*);
  int (*log_)(Program, char*);
  int (*code_size_)(Program, std::size_t*);
  int (*code_)(Program, char*);
};

}  // namespace tandem::sparse
