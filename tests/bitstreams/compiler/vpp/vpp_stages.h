// SPDX-License-Identifier: Apache-2.0
//
// Runs the stages of v++ in a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/xclbin/whole_file.h"
#include "support/tree.h"

namespace tandem::vpp {

struct Outcome {
  int status;
  std::string messages;  // stderr
};

// Works in a folder of its own, which has a blank in its name; temporary folders go below it.
class VppStages : public testing::Test {
 protected:
  VppStages()
      : root_(std::filesystem::temp_directory_path() /
              ("tandem-vpp-" + std::to_string(getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name())),
        before_(std::filesystem::current_path()) {
    std::filesystem::create_directories(root_ / "work here");
    std::filesystem::create_directories(root_ / "tmp");
    std::filesystem::current_path(root_ / "work here");
    setenv("TMPDIR", (root_ / "tmp").c_str(), 1);
    environment_.tree = (test::binary_dir() / "xrt").string();
    environment_.checks = "off";  // half the time
  }
  ~VppStages() override {
    EXPECT_TRUE(std::filesystem::is_empty(root_ / "tmp")) << "a temporary folder was left behind";
    std::filesystem::current_path(before_);
    unsetenv("TMPDIR");
    std::filesystem::remove_all(root_);
  }

  Outcome run(const std::vector<std::string>& arguments) const {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int status = run_program(arguments, environment_);
    testing::internal::GetCapturedStdout();
    return {status, testing::internal::GetCapturedStderr()};
  }

  Outcome compile(const std::string& kernel, const std::string& source,
                  std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"-c", "-t",   "sw_emu", "-f",           "u280",
                                          "-k", kernel, "-o",     kernel + ".xo", source};
    // In front, as the first value of an option counts.
    arguments.insert(arguments.begin(), more.begin(), more.end());
    return run(arguments);
  }

  Outcome link(const std::vector<std::string>& objects, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"-l", "-t", "sw_emu", "-f", "u280", "-o", "a.xclbin"};
    arguments.insert(arguments.end(), objects.begin(), objects.end());
    arguments.insert(arguments.begin(), more.begin(), more.end());
    return run(arguments);
  }

  static std::string metadata(const std::string& path) {
    const std::string bytes = xclbin::read_text(path);
    const size_t begin = bytes.find("<?xml");
    return bytes.substr(begin, bytes.find("</project>") - begin);
  }

  std::filesystem::path root_;
  std::filesystem::path before_;
  Environment environment_;
};

inline constexpr const char* kAdd =
    "extern \"C\" {\nstatic int helper(int a) { return a + 1; }\n"
    "void add(const int* in, int* out, int n) {\n"
    "#pragma HLS interface m_axi port=in bundle=gmem0\n"
    "#pragma HLS interface m_axi port=out bundle=gmem1\n"
    "  for (int i = 0; i < n; ++i) out[i] = helper(in[i]);\n}\n"
    "void sub(const int* in, int* out, int n) {\n"
    "  for (int i = 0; i < n; ++i) out[i] = in[i] - helper(0);\n}\n}\n";

}  // namespace tandem::vpp
