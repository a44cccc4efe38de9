// SPDX-License-Identifier: Apache-2.0
//
// Exercises: program-scope pipes between two kernels, of a scalar and of a structure, blocking and
// not, started in either order.
#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void check_run(const LoadedCard& card, bool consumer_first) {
  constexpr size_t kCount = 5000;
  const Queue queue = card.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Kernel produce = card.kernel("produce");
  const Kernel consume = card.kernel("consume");
  const std::vector<int> in = numbers(kCount, 5);
  std::vector<int> out(kCount);
  std::vector<float> sums(kCount);
  const Memory device_in = card.buffer(CL_MEM_READ_ONLY, kCount * 4);
  const Memory device_out = card.buffer(CL_MEM_WRITE_ONLY, kCount * 4);
  const Memory device_sums = card.buffer(CL_MEM_WRITE_ONLY, kCount * 4);
  OCL(clEnqueueWriteBuffer(queue.get(), device_in.get(), CL_TRUE, 0, kCount * 4, in.data(), 0,
                           nullptr, nullptr));
  set_arguments(produce.get(), device_in, cl_int(kCount));
  set_arguments(consume.get(), device_out, device_sums);
  OCL(clEnqueueTask(queue.get(), (consumer_first ? consume : produce).get(), 0, nullptr, nullptr));
  OCL(clEnqueueTask(queue.get(), (consumer_first ? produce : consume).get(), 0, nullptr, nullptr));
  OCL(clFinish(queue.get()));
  OCL(clEnqueueReadBuffer(queue.get(), device_out.get(), CL_TRUE, 0, kCount * 4, out.data(), 0,
                          nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), device_sums.get(), CL_TRUE, 0, kCount * 4, sums.data(), 0,
                          nullptr, nullptr));
  for (size_t i = 0; i < kCount; ++i) {
    CHECK_EQ(out[i], in[i] * 2);
    CHECK_EQ(sums[i], static_cast<float>(4 * i + 6));
  }
}

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  check_run(card, false);
  check_run(card, true);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
