// SPDX-License-Identifier: Apache-2.0
//
// Source: NVRTC manual. Only functions that every version since 11 has.
#include "tensor/sparse/generated/nvrtc_compiler.h"

#include <memory>
#include <vector>

#include "common/error.h"
#include "tensor/sparse/generated/cuda_source.h"

namespace tandem::sparse {
namespace {

std::string library_file() {
  for (const char* file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
    void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    dlclose(handle);
    return file;
  }
  return "libnvrtc.so";
}

}  // namespace

NvrtcCompiler::NvrtcCompiler() : library_("NVRTC", library_file()) {
  library_.find("nvrtcCreateProgram", create_);
  library_.find("nvrtcDestroyProgram", destroy_);
  library_.find("nvrtcCompileProgram", compile_);
  library_.find("nvrtcGetProgramLogSize", log_size_);
  library_.find("nvrtcGetProgramLog", log_);
  library_.find("nvrtcGetCUBINSize", code_size_);
  library_.find("nvrtcGetCUBIN", code_);
}

std::string NvrtcCompiler::log_of(Program program) const {
  std::size_t size = 0;
  if (log_size_(program, &size) != 0 || size <= 1) return "";
  std::string text(size, '\0');
  log_(program, text.data());
  text.resize(size - 1);  // without the zero at its end
  return text;
}

CompiledCuda NvrtcCompiler::compile_source(const std::string& source,
                                           std::string_view architecture) const {
  if (!reason().empty()) throw Error("tensor", reason());
  std::vector<const char*> texts, names;
  for (const CudaHeader& header : cuda_headers()) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  Program made = nullptr;
  if (create_(&made, source.c_str(), "kernel.cu", static_cast<int>(names.size()), texts.data(),
              names.data()) != 0) {
    throw Error("tensor", "NVRTC cannot take the source of a kernel");
  }
  const auto destroy = [this](Program* program) { destroy_(program); };
  const std::unique_ptr<Program, decltype(destroy)> owner(&made, destroy);
  const std::string target = "--gpu-architecture=" + std::string(architecture);
  const char* const options[] = {target.c_str(), "--std=c++17", "--ptxas-options=-v"};
  if (compile_(made, static_cast<int>(std::size(options)), options) != 0) {
    throw Error("tensor",
                "NVRTC cannot compile for " + std::string(architecture) + ": " + log_of(made));
  }
  CompiledCuda compiled;
  compiled.messages = log_of(made);
  std::size_t size = 0;
  if (code_size_(made, &size) == 0) compiled.code.resize(size);
  if (size == 0 || code_(made, compiled.code.data()) != 0) {
    throw Error("tensor", "NVRTC made no code for " + std::string(architecture) +
                              "; use an architecture such as sm_90");
  }
  return compiled;
}

CompiledCuda NvrtcCompiler::compile(const KernelPattern& pattern,
                                    std::string_view architecture) const {
  return compile_source(cuda_source(pattern), architecture);
}

}  // namespace tandem::sparse
