// SPDX-License-Identifier: Apache-2.0
//
// What the parts of this test share: the kernel with its bugs, and the report.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <fstream>
#include <numeric>

#include "application.h"
#include "taken_report.h"

namespace tandem::fpga_test {

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);
constexpr auto kPatience = std::chrono::seconds(60);

// The line of the kernel's source that has the mark.
inline int marked_line(int mark) {
  std::string file = __FILE__;
  file.replace(file.rfind("probe.h"), std::string::npos, "kernel.cpp");
  std::ifstream in(file);
  std::string line;
  const std::string wanted = "// mark " + std::to_string(mark);
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find(wanted) != std::string::npos) return number;
  }
  return 0;
}

inline void expect_one(const std::string& report, const std::string& kind,
                       const std::string& argument, const std::string& file, int line) {
  CHECK_EQ(count_of(report, "\n"), 1);
  CHECK_EQ(count_of(report, "{\"kind\": \"" + kind + "\""), 1);
  if (!argument.empty()) CHECK_EQ(count_of(report, "\"argument\": \"" + argument + "\""), 1);
  CHECK_EQ(count_of(report, file + "\", \"line\": " + std::to_string(line) + ","), 1);
  if (count_of(report, "\n") != 1) std::cout << kind << ":\n" << report;
}

struct Probe {
  explicit Probe(const std::string& xclbin)
      : device(0), uuid(device.load_xclbin(xclbin)), kernel(device, uuid, "probe") {}

  struct Buffers {
    xrt::bo in, out;
  };
  Buffers make() {
    Buffers buffers{xrt::bo(device, kBytes, kernel.group_id(0)),
                    xrt::bo(device, kBytes, kernel.group_id(1))};
    std::iota(buffers.in.map<int*>(), buffers.in.map<int*>() + kCount, 0);
    return buffers;
  }
  ert_cmd_state run(Buffers& buffers, int bug) {
    auto run = kernel(buffers.in, buffers.out, kCount, bug);
    return run.wait(kPatience);
  }

  xrt::device device;
  xrt::uuid uuid;
  xrt::kernel kernel;
};

// Of what the program does, see host_side.cpp.
void find_early_reads(Probe& probe);
void find_bad_arguments(Probe& probe);

}  // namespace tandem::fpga_test
