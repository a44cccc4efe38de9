// SPDX-License-Identifier: Apache-2.0
//
// Exercises: async_work_group_copy, async_work_group_strided_copy, events, wait_group_events.
#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void pass(const Arguments& arguments) {
  constexpr size_t kTile = 8, kTiles = 5, kWidth = kTile * kTiles, kBytes = kWidth * kWidth * 4;
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("transposed");
  const std::vector<int> in = numbers(kWidth * kWidth, 1);
  std::vector<int> out(kWidth * kWidth);
  const Memory device_in = card.buffer(CL_MEM_READ_ONLY, kBytes);
  const Memory device_out = card.buffer(CL_MEM_WRITE_ONLY, kBytes);
  OCL(clEnqueueWriteBuffer(queue.get(), device_in.get(), CL_TRUE, 0, kBytes, in.data(), 0, nullptr,
                           nullptr));
  set_arguments(kernel.get(), device_in, device_out, cl_int(kTiles));
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &kWidth, &kTile, 0, nullptr,
                             nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device_out.get(), CL_TRUE, 0, kBytes, out.data(), 0, nullptr,
                          nullptr));
  for (size_t y = 0; y < kWidth; ++y) {
    for (size_t x = 0; x < kWidth; ++x) {
      CHECK_EQ(out[x * kWidth + y], in[y * kWidth + x] + static_cast<int>(x % kTile));
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
