// SPDX-License-Identifier: Apache-2.0
//
// v++ -p: an emulation xclbin needs no packaging, so it is checked and copied.
#include <filesystem>

#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/xclbin/inspect.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

// The one input that is an xclbin; AI-engine archives cannot be packaged.
std::string find_xclbin(const Options& options) {
  std::string found;
  for (const std::string& input : options.inputs) {
    if (input.ends_with(".a")) {
      throw Error("v++", input + ": AI-engine programs are not emulated");
    }
    if (!found.empty())
      throw Error("v++", "-p takes one linked xclbin, not " + found + " and " + input);
    found = input;
  }
  return found;
}

void check_files(const Options& options) {
  for (const std::string& path : options.package_files) {
    if (!fs::exists(path)) throw Error("v++", "--package.sd_file: no such file: " + path);
  }
}

void copy_into(const std::string& path, const fs::path& folder) {
  fs::copy(path, folder / fs::path(path).filename(),
           fs::copy_options::overwrite_existing | fs::copy_options::recursive);
}

}  // namespace

StageResult package(const Options& options) {
  const std::string input = find_xclbin(options);
  const std::string bytes = xclbin::read_text(input);
  const std::span view(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  const xclbin::XclbinInfo info = xclbin::inspect(view, input);
  StageResult result;
  for (const xclbin::KernelInfo& kernel : info.kernels) result.kernels.push_back(kernel.name);
  result.dependencies.push_back(input);
  check_files(options);
  if (!options.package_dir.empty()) {
    xclbin::make_parent(options.package_dir + "/");
    const fs::path folder = fs::path(options.package_dir) / "sd_card";
    if (!options.package_files.empty()) xclbin::make_parent(folder.string() + "/");
    for (const std::string& file : options.package_files) copy_into(file, folder);
  }
  xclbin::write_text(output_name(options), bytes);
  return result;
}

}  // namespace tandem::vpp
