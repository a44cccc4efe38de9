// SPDX-License-Identifier: Apache-2.0
//
// Exercises: barriers in a function that the kernel calls, local variables and a local argument,
// reqd_work_group_size and the refusal of another size, several groups.
#include <numeric>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void pass(const Arguments& arguments) {
  constexpr size_t kGroup = 64, kGroups = 25, kItems = kGroup * kGroups;
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("reduce");
  const std::vector<int> in = numbers(kItems, 3);
  std::vector<int> out(kGroups * 2);
  const Memory device_in = card.buffer(CL_MEM_READ_ONLY, kItems * sizeof(int));
  const Memory device_out = card.buffer(CL_MEM_WRITE_ONLY, out.size() * sizeof(int));
  OCL(clEnqueueWriteBuffer(queue.get(), device_in.get(), CL_TRUE, 0, kItems * sizeof(int),
                           in.data(), 0, nullptr, nullptr));
  OCL(clSetKernelArg(kernel.get(), 0, sizeof(cl_mem), &device_in));
  OCL(clSetKernelArg(kernel.get(), 1, kGroup * sizeof(int), nullptr));
  OCL(clSetKernelArg(kernel.get(), 2, sizeof(cl_mem), &device_out));
  const size_t wrong = 32;
  CHECK_EQ(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &kItems, &wrong, 0,
                                  nullptr, nullptr),
           CL_INVALID_WORK_GROUP_SIZE);
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &kItems, &kGroup, 0, nullptr,
                             nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device_out.get(), CL_TRUE, 0, out.size() * sizeof(int),
                          out.data(), 0, nullptr, nullptr));
  for (size_t group = 0; group < kGroups; ++group) {
    const auto first = in.begin() + static_cast<long>(group * kGroup);
    CHECK_EQ(out[group * 2], std::accumulate(first, first + kGroup, 0));
    CHECK_EQ(out[group * 2 + 1], first[kGroup - 1]);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
