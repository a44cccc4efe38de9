// SPDX-License-Identifier: Apache-2.0
//
// Exercises: atomic functions on global and local memory, from two compute units at once.
#include <algorithm>
#include <numeric>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void pass(const Arguments& arguments) {
  constexpr size_t kItems = 64;
  constexpr int kCount = 64 * 1024;
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("histogram");
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = (i * 7919) % 10007 - 5000;
  std::vector<int> bins(13);
  const size_t bytes = bins.size() * sizeof(int);
  const Memory device_values = card.buffer(CL_MEM_READ_ONLY, values.size() * sizeof(int));
  const Memory device_bins = card.buffer(CL_MEM_READ_WRITE, bytes);
  OCL(clEnqueueWriteBuffer(queue.get(), device_values.get(), CL_TRUE, 0,
                           values.size() * sizeof(int), values.data(), 0, nullptr, nullptr));
  OCL(clEnqueueWriteBuffer(queue.get(), device_bins.get(), CL_TRUE, 0, bytes, bins.data(), 0,
                           nullptr, nullptr));
  set_arguments(kernel.get(), device_values, device_bins, cl_int(kCount));
  const size_t group = 4;
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &kItems, &group, 0, nullptr,
                             nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device_bins.get(), CL_TRUE, 0, bytes, bins.data(), 0,
                          nullptr, nullptr));
  for (int bin = 0; bin < 8; ++bin) {
    CHECK_EQ(bins[bin], std::count_if(values.begin(), values.end(),
                                      [bin](int value) { return (value & 7) == bin; }));
  }
  CHECK_EQ(bins[8], *std::min_element(values.begin(), values.end()));
  CHECK_EQ(bins[9], *std::max_element(values.begin(), values.end()));
  CHECK_EQ(bins[10], std::accumulate(values.begin(), values.end(), 0, std::bit_xor<>()));
  CHECK_EQ(bins[11], std::accumulate(values.begin(), values.end(), 0));
  CHECK_EQ(bins[12], kCount);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
