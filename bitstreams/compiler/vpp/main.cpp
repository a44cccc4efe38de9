// SPDX-License-Identifier: Apache-2.0
//
// v++: builds kernels and bitstreams for emulated cards with the vendor's command line.
#include <cstdlib>
#include <filesystem>

#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/xclbin/interruption.h"
#include "bitstreams/xclbin/platform.h"

namespace {

std::string value(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// The parent of this program's folder.
std::string tree() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code).parent_path().parent_path();
}

}  // namespace

int main(int argc, char** argv) {
  tandem::xclbin::clean_up_on_interruption();
  tandem::xclbin::search_platforms_in(std::getenv("PLATFORM_REPO_PATHS"));
  return tandem::vpp::run_program({argv + 1, argv + argc},
                                  {value("TANDEM_CXX"), value("TANDEM_HLS_INCLUDE"),
                                   value("TANDEM_KERNEL_FLAGS"), value("TANDEM_CLANG"), tree()});
}
