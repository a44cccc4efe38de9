// SPDX-License-Identifier: Apache-2.0
//
// v++: builds kernels and bitstreams for emulated cards with the vendor's command line.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bitstreams/compiler/vpp/csynth_report.h"
#include "bitstreams/compiler/vpp/hls_mode.h"
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
  tandem::xclbin::search_platforms_in(std::getenv("PLATFORM_REPO_PATHS"));
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    const auto component = tandem::vpp::hls_component(arguments);
    if (component.has_value()) tandem::vpp::become_hls_component(*component, tree());
    if (!arguments.empty() && arguments[0] == tandem::vpp::kCsynthReport) {
      tandem::xclbin::clean_up_on_interruption();
      return tandem::vpp::print_csynth_report({arguments.begin() + 1, arguments.end()},
                                              value("TANDEM_CLANG"));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ERROR: %s\n", error.what());
    return 1;
  }
  tandem::xclbin::clean_up_on_interruption();
  return tandem::vpp::run_program(
      arguments,
      {value("TANDEM_CXX"), value("TANDEM_HLS_INCLUDE"), value("TANDEM_KERNEL_FLAGS"),
       value("TANDEM_CLANG"), tree(), value("TANDEM_KERNEL_CHECKS"), value("TANDEM_KERNEL_TIME"),
       value("TANDEM_KERNEL_COVERAGE"), value("TANDEM_VERILATOR")});
}
