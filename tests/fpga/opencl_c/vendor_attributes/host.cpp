// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xcl_ attributes and unroll hints at declarations, kernels, loops and labels; local
// and private arrays; program-scope constants; __constant pointers; functions named like the C
// library's; two kernels of one source.
#include <numeric>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void check_matmul(const LoadedCard& card, cl_command_queue queue) {
  constexpr int kSize = 12;
  const std::vector<int> a = numbers(kSize * kSize, 1);
  const std::vector<int> b = numbers(kSize * kSize, 2);
  std::vector<int> c(kSize * kSize);
  const size_t bytes = c.size() * sizeof(int);
  const Memory device_a = card.buffer(CL_MEM_READ_ONLY, bytes);
  const Memory device_b = card.buffer(CL_MEM_READ_ONLY, bytes);
  const Memory device_c = card.buffer(CL_MEM_WRITE_ONLY, bytes);
  OCL(clEnqueueWriteBuffer(queue, device_a.get(), CL_TRUE, 0, bytes, a.data(), 0, nullptr,
                           nullptr));
  OCL(clEnqueueWriteBuffer(queue, device_b.get(), CL_TRUE, 0, bytes, b.data(), 0, nullptr,
                           nullptr));
  OCL(clEnqueueWriteBuffer(queue, device_c.get(), CL_TRUE, 0, bytes, c.data(), 0, nullptr,
                           nullptr));
  const Kernel kernel = card.kernel("matmul");
  set_arguments(kernel.get(), device_a, device_b, device_c, cl_int(kSize));
  OCL(clEnqueueTask(queue, kernel.get(), 0, nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue, device_c.get(), CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr));
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      int sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[k * kSize + j];
      CHECK_EQ(c[i * kSize + j], sum);
    }
  }
}

void check_filter(const LoadedCard& card, cl_command_queue queue) {
  constexpr size_t kCount = 1000;
  const float taps[5] = {1, 2, 4, 8, 16};
  std::vector<float> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 1.0f);
  const Memory device_in = card.buffer(CL_MEM_READ_ONLY, kCount * sizeof(float));
  const Memory device_taps = card.buffer(CL_MEM_READ_ONLY, sizeof(taps));
  const Memory device_out = card.buffer(CL_MEM_WRITE_ONLY, kCount * sizeof(float));
  OCL(clEnqueueWriteBuffer(queue, device_in.get(), CL_TRUE, 0, kCount * sizeof(float), in.data(), 0,
                           nullptr, nullptr));
  OCL(clEnqueueWriteBuffer(queue, device_taps.get(), CL_TRUE, 0, sizeof(taps), taps, 0, nullptr,
                           nullptr));
  const Kernel kernel = card.kernel("filter");
  set_arguments(kernel.get(), device_in, device_taps, device_out, cl_int(kCount));
  const size_t one = 1;
  OCL(clEnqueueNDRangeKernel(queue, kernel.get(), 1, nullptr, &one, &one, 0, nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue, device_out.get(), CL_TRUE, 0, kCount * sizeof(float), out.data(),
                          0, nullptr, nullptr));
  for (size_t i = 0; i < kCount; ++i) {
    float sum = 0;
    for (size_t t = 0; t < 5 && t <= i; ++t) sum += in[i - t] * taps[t];
    CHECK_EQ(out[i], sum);
  }
}

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  check_matmul(card, queue.get());
  check_filter(card, queue.get());
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
