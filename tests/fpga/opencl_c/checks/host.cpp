// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the checks of kernels in OpenCL C. Each bug leaves one finding with its line, and its
// mended twin none.
#include <fstream>
#include <string>
#include <vector>

#include "opencl_card.h"
#include "taken_report.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

struct Bug {
  int number;
  const char* kind;
  const char* argument;  // empty: none
  size_t items = 1;      // of its work-group
};

const std::vector<Bug> kBugs = {{1, "out_of_bounds", "in"},     {2, "out_of_bounds", "out"},
                                {3, "local_out_of_bounds", ""}, {4, "local_out_of_bounds", ""},
                                {5, "misaligned", "in"},        {6, "out_of_bounds", "in"},
                                {7, "local_out_of_bounds", ""}, {8, "local_out_of_bounds", "", 4}};

int marked_line(int number) {
  std::string path = __FILE__;
  path.replace(path.rfind("host.cpp"), std::string::npos, "kernel.cl");
  std::ifstream in(path);
  const std::string mark = "// bug " + std::to_string(number);
  std::string line;
  for (int at = 1; std::getline(in, line); ++at) {
    if (line.ends_with(mark)) return at;
  }
  return 0;
}

cl_int run(const LoadedCard& card, int number, size_t items) {
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("probe");
  const std::vector<int> values = numbers(kCount, 3);
  const Memory in = card.buffer(CL_MEM_READ_ONLY, kBytes);
  const Memory out = card.buffer(CL_MEM_READ_WRITE, kBytes);
  OCL(clEnqueueWriteBuffer(queue.get(), in.get(), CL_TRUE, 0, kBytes, values.data(), 0, nullptr,
                           nullptr));
  OCL(clSetKernelArg(kernel.get(), 0, sizeof(cl_mem), &in));
  OCL(clSetKernelArg(kernel.get(), 1, sizeof(cl_mem), &out));
  OCL(clSetKernelArg(kernel.get(), 2, sizeof(int), &kCount));
  OCL(clSetKernelArg(kernel.get(), 3, sizeof(int), &number));
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &items, &items, 0, nullptr,
                             nullptr));
  return clFinish(queue.get());
}

void expect_finding(const Bug& bug) {
  const std::string report = take_report();
  CHECK_EQ(count_of(report, "\n"), 1);
  CHECK_EQ(count_of(report, "{\"kind\": \"" + std::string(bug.kind) + "\""), 1);
  const std::string line = std::to_string(marked_line(bug.number));
  CHECK_EQ(count_of(report, "kernel.cl\", \"line\": " + line + ","), 1);
  if (*bug.argument != '\0') {
    CHECK_EQ(count_of(report, "\"argument\": \"" + std::string(bug.argument) + "\""), 1);
  }
  if (count_of(report, "\n") != 1) std::cout << "bug " << bug.number << ":\n" << report;
}

void find_bugs(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  take_report();
  for (const Bug& bug : kBugs) {
    OCL(run(card, -bug.number, bug.items));
    const std::string silent = take_report();
    CHECK_EQ(silent, std::string());
    OCL(run(card, bug.number, bug.items));
    expect_finding(bug);
  }
  const Bug last{9, "division_by_zero", ""};
  OCL(run(card, -last.number, 1));
  CHECK_EQ(take_report(), std::string());
  run(card, last.number, 1);  // the kernel crashes
  expect_finding(last);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, find_bugs); }
