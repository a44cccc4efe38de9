// SPDX-License-Identifier: Apache-2.0
//
// The three words of --kernels, and what the environment says.
#include "apps/tensor/kernel_option.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "common/error.h"

namespace tandem::apps {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string in_path(const std::string& name) {
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code code;
    const bool is_program = std::filesystem::is_regular_file(file, code);
    if (is_program && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string compiler_path() {
  const std::string named = variable("TANDEM_KERNEL_COMPILER");
  if (named == "none") return "";
  if (!named.empty()) return named.find('/') == std::string::npos ? in_path(named) : named;
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string file = in_path(name); !file.empty()) return file;
  }
  return "";
}

std::string cache_folder() {
  if (std::string named = variable("TANDEM_KERNEL_CACHE"); !named.empty()) return named;
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with("/")) {
    return cache + "/tandem/kernels";
  }
  const std::string home = variable("HOME");
  return home.starts_with("/") ? home + "/.cache/tandem/kernels" : "";
}

[[noreturn]] void refuse_kernel(const sparse::GeneratedKernels& generated,
                                const sparse::KernelPattern& pattern) {
  throw Error("tensor", "no generated kernel " + key(pattern) + ": " +
                            (is_in_grammar(pattern) ? generated.cache().reason()
                                                    : "only up to order 6 and 256 columns"));
}

}  // namespace

sparse::KernelCacheOptions kernel_cache_options() {
  sparse::KernelCacheOptions options;
  options.folder = cache_folder();
  options.compiler = sparse::SourceCompiler(compiler_path());
  return options;
}

void add_tensor_kernels(CLI::App& command, std::string& kernels) {
  command
      .add_option(
          "--kernels", kernels,
          "generic: those of this program; generated: compiled for the tensor's order, mode "
          "and columns, which needs a C++ compiler (TANDEM_KERNEL_COMPILER) and keeps them "
          "in TANDEM_KERNEL_CACHE or the user's cache; auto: the faster ones, where a "
          "compilation can pay")
      ->check(CLI::IsMember({"auto", "generic", "generated"}))
      ->capture_default_str();
}

template <typename Value>
sparse::MttkrpFunction<Value> kernel_for(const std::string& kernels,
                                         sparse::GeneratedKernels& generated,
                                         const MttkrpCall<Value>& call, double calls) {
  if (kernels == "generic") return nullptr;
  if (kernels == "auto") {
    return generated.faster_mttkrp<Value>(call.tensor, call.factors, call.mode, call.out, call.pool,
                                          calls);
  }
  const auto pattern =
      sparse::mttkrp_pattern<Value>(call.tensor.order(), call.mode, call.out.stride);
  const auto kernel = generated.mttkrp<Value>(pattern);
  if (kernel == nullptr) refuse_kernel(generated, pattern);
  return kernel;
}

template sparse::MttkrpFunction<float> kernel_for(const std::string&, sparse::GeneratedKernels&,
                                                  const MttkrpCall<float>&, double);
template sparse::MttkrpFunction<double> kernel_for(const std::string&, sparse::GeneratedKernels&,
                                                   const MttkrpCall<double>&, double);

sparse::RowsFunction rows_kernel_for(const std::string& kernels,
                                     sparse::GeneratedKernels& generated,
                                     const sparse::KernelPattern& pattern,
                                     FunctionRef<void(sparse::RowsFunction)> run, double calls) {
  if (kernels == "generic") return nullptr;
  if (kernels == "auto") return generated.faster_rows(pattern, run, calls);
  const sparse::RowsFunction kernel = generated.rows(pattern);
  if (kernel == nullptr) refuse_kernel(generated, pattern);
  return kernel;
}

std::vector<std::string> generated_keys(const sparse::GeneratedKernels& generated) {
  std::vector<std::string> keys;
  for (const sparse::KernelSpeed& speed : generated.table()) {
    if (speed.generated_pays()) keys.push_back(speed.key);
  }
  return keys;
}

}  // namespace tandem::apps
