// SPDX-License-Identifier: Apache-2.0
//
// Exercises: what OpenCL refuses is a finding of the card, with kernel, argument and line, and what
// it takes is none.
#include <cstdio>
#include <cstdlib>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kValues = 64;

std::string take_report() {
  const char* const name = std::getenv("TANDEM_CARD_REPORT");
  std::ifstream in(name);
  const std::string report(std::istreambuf_iterator<char>(in), {});
  std::remove(name);
  return report;
}

// One line, with the argument as JSON has it, the line of the call and the text.
void expect_refusal(const std::string& argument, int line, const std::string& text) {
  const std::string report = take_report();
  const std::string begin =
      "{\"kind\": \"bad_argument\", \"severity\": \"error\", \"kernel\": \"scale\"";
  CHECK_EQ(report.find(begin), 0u);
  CHECK_EQ(report.find('\n'), report.size() - 1);
  for (const std::string& part : {"\"argument\": " + argument + ", ",
                                  "host.cpp\", \"line\": " + std::to_string(line) + ",", text}) {
    if (report.find(part) == std::string::npos) {
      report_failure(__FILE__, line, "no '" + part + "' in " + report);
    }
  }
}

void refuse(cl_kernel kernel, cl_command_queue queue) {
  const cl_long wide = 1;
  CHECK_EQ(clSetKernelArg(kernel, 2, sizeof(wide), &wide), CL_INVALID_ARG_SIZE);
  expect_refusal("\"size\"", __LINE__ - 1, "it is given 8 bytes; pass what the kernel takes");
  CHECK(clSetKernelArg(kernel, 3, sizeof(wide), &wide) != CL_SUCCESS);
  expect_refusal("null", __LINE__ - 1, "the argument 3 with status ");
  CHECK_EQ(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_INVALID_KERNEL_ARGS);
  expect_refusal("null", __LINE__ - 1, "not all of its arguments are set");
  const size_t one = 1;
  CHECK_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, 0, nullptr, nullptr),
           CL_INVALID_KERNEL_ARGS);
  expect_refusal("null", __LINE__ - 2, "not all of its arguments are set");
}

void check(const Arguments& arguments) {
  take_report();
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("scale");
  std::vector<int> values = numbers(kValues, 3), scaled(kValues);
  const Memory data = card.buffer(CL_MEM_READ_WRITE, kValues * sizeof(int));
  refuse(kernel.get(), queue.get());
  set_arguments(kernel.get(), data, cl_int{3}, kValues);
  OCL(clEnqueueWriteBuffer(queue.get(), data.get(), CL_TRUE, 0, kValues * sizeof(int),
                           values.data(), 0, nullptr, nullptr));
  OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), data.get(), CL_TRUE, 0, kValues * sizeof(int), scaled.data(),
                          0, nullptr, nullptr));
  for (unsigned int i = 0; i < kValues; ++i) CHECK_EQ(scaled[i], values[i] * 3 + 1);
  CHECK_EQ(take_report(), "");
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, check); }
