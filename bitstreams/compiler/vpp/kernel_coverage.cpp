// SPDX-License-Identifier: Apache-2.0
//
// The card may be ended by a signal, so the counts are written after each run and begin again.
#include "bitstreams/compiler/vpp/kernel_coverage.h"

#include <filesystem>

namespace tandem::vpp {

namespace fs = std::filesystem;

std::vector<std::string> coverage_flags(const std::string& output, const std::string& source_stem) {
  const fs::path object = fs::absolute(output).lexically_normal();
  return {"-O0",
          "--coverage",
          "-fprofile-abs-path",
          "-dumpdir",
          object.parent_path().string() + "/",
          "-dumpbase",
          object.stem().string() + "." + source_stem + ".cpp",
          "-dumpbase-ext",
          ".cpp"};
}

std::string coverage_symbol(const std::string& kernel) { return "tandem_coverage_" + kernel; }

std::string coverage_text(const std::string& kernel) {
  return "\nextern \"C\" void __gcov_dump(void);\nextern \"C\" void __gcov_reset(void);\n"
         "extern \"C\" __attribute__((__visibility__(\"default\"), "
         "__no_profile_instrument_function__"
         ")) void " +
         coverage_symbol(kernel) + "() { __gcov_dump(); __gcov_reset(); }\n";
}

bool counts_coverage(const std::string& object) {
  return object.find("__gcov_init") != std::string::npos;
}

}  // namespace tandem::vpp
