// SPDX-License-Identifier: Apache-2.0
//
// What the rows of the corpus share: a card with the kernels, buffers for one run, and the report.
//
// A row is a bug with its mended twin. The twin runs first and leaves the report empty; the bug
// leaves one finding with its kind, argument and the line that has the mark "// bug NAME".
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "application.h"

namespace tandem::fpga_test {

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);
constexpr auto kPatience = std::chrono::seconds(100);

struct Buffers {
  xrt::bo in, out, scratch;
};

struct Bench {
  explicit Bench(const std::string& xclbin);
  xrt::kernel kernel(const std::string& name) { return xrt::kernel(device, uuid, name); }
  // `in` holds 0, 1, 2, ... and is synced, the others were never written.
  Buffers make(const xrt::kernel& kernel);
  // A run of a kernel with its bug `number`; negative: the twin; 0: none.
  ert_cmd_state run(const std::string& kernel, int number);
  // A run without a bug on given buffers.
  ert_cmd_state run_well(xrt::kernel& kernel, Buffers& buffers);

  xrt::device device;
  xrt::uuid uuid;
};

struct Row {
  std::string name;
  std::string kind;
  std::string argument;  // empty: not looked at
  std::string file;      // where the mark is; empty: no line is expected
  std::function<void(Bench&, bool bad)> run;
  bool ends_card = false;  // the bug crashes the kernel
};

// Of the kernels, of buffers and syncs, of arguments, of units and of what the card writes.
std::vector<Row> kernel_rows();
std::vector<Row> buffer_rows();
std::vector<Row> argument_rows();
std::vector<Row> unit_rows();
std::vector<Row> copy_rows();

// The lines of the report, which is then empty.
std::vector<std::string> take_report();
int marked_line(const std::string& file, const std::string& name);

}  // namespace tandem::fpga_test
