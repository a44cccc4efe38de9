// SPDX-License-Identifier: Apache-2.0
//
// Exercises: NDRanges of one, two and three dimensions, groups of several sizes, a size chosen by
// the runtime, an offset, and every function that gives a work-item its place.
#include <array>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kFields = 20;
using Sizes = std::array<size_t, 3>;

void check_item(const cl_ulong* item, cl_uint dimensions, const Sizes& at, const Sizes& global,
                const Sizes& local, const Sizes& offset) {
  CHECK_EQ(item[0], dimensions);
  for (size_t d = 0; d < 3; ++d) {
    CHECK_EQ(item[1 + d], offset[d] + at[d]);
    CHECK_EQ(item[4 + d], at[d] % local[d]);
    CHECK_EQ(item[7 + d], at[d] / local[d]);
    CHECK_EQ(item[10 + d], global[d] / local[d]);
    CHECK_EQ(item[13 + d], local[d]);
  }
  CHECK_EQ(item[16], 1u);
  CHECK_EQ(item[17], 0u);
  CHECK_EQ(item[18], (at[2] * global[1] + at[1]) * global[0] + at[0]);
  CHECK_EQ(item[19],
           (at[2] % local[2] * local[1] + at[1] % local[1]) * local[0] + at[0] % local[0]);
}

void check_range(const LoadedCard& card, cl_uint dimensions, const Sizes& global,
                 const Sizes& local, const Sizes& offset) {
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("place");
  const size_t items = global[0] * global[1] * global[2];
  std::vector<cl_ulong> out(items * kFields, ~cl_ulong{0});
  const size_t bytes = out.size() * sizeof(cl_ulong);
  const Memory device = card.buffer(CL_MEM_READ_WRITE, bytes);
  OCL(clEnqueueWriteBuffer(queue.get(), device.get(), CL_TRUE, 0, bytes, out.data(), 0, nullptr,
                           nullptr));
  set_arguments(kernel.get(), device);
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), dimensions, offset.data(), global.data(),
                             local.data(), 0, nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device.get(), CL_TRUE, 0, bytes, out.data(), 0, nullptr,
                          nullptr));
  for (size_t index = 0; index < items; ++index) {
    const Sizes at = {index % global[0], index / global[0] % global[1],
                      index / global[0] / global[1]};
    check_item(out.data() + index * kFields, dimensions, at, global, local, offset);
  }
}

// Without a size of its own the runtime takes one that divides the range.
void check_free_size(const LoadedCard& card) {
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("place");
  const size_t global = 60;
  std::vector<cl_ulong> out(global * kFields);
  const Memory device = card.buffer(CL_MEM_READ_WRITE, out.size() * sizeof(cl_ulong));
  set_arguments(kernel.get(), device);
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &global, nullptr, 0, nullptr,
                             nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device.get(), CL_TRUE, 0, out.size() * sizeof(cl_ulong),
                          out.data(), 0, nullptr, nullptr));
  for (size_t index = 0; index < global; ++index) {
    CHECK_EQ(out[index * kFields + 1], index);
    CHECK_EQ(out[index * kFields + 10] * out[index * kFields + 13], global);
  }
}

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  check_range(card, 1, {64, 1, 1}, {16, 1, 1}, {0, 0, 0});
  check_range(card, 1, {7, 1, 1}, {1, 1, 1}, {0, 0, 0});
  check_range(card, 1, {16, 1, 1}, {16, 1, 1}, {100, 0, 0});
  check_range(card, 2, {8, 6, 1}, {4, 3, 1}, {0, 0, 0});
  check_range(card, 3, {4, 6, 10}, {2, 3, 5}, {0, 0, 0});
  check_free_size(card);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
