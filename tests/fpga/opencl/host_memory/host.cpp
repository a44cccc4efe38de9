// SPDX-License-Identifier: Apache-2.0
//
// Exercises: buffers in host memory (XCL_MEM_EXT_HOST_ONLY), peer-to-peer buffers
// (XCL_MEM_EXT_P2P_BUFFER) that the host maps, and buffers without a host copy
// (CL_MEM_HOST_NO_ACCESS), as arguments of one kernel and as ends of copies.
#include <cstring>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 3000;
constexpr size_t kBytes = kSize * 4;

Memory extended(const LoadedCard& card, unsigned int flags, cl_mem_flags access) {
  cl_mem_ext_ptr_t place{};
  place.flags = flags;
  return card.buffer(access | CL_MEM_EXT_PTR_XILINX, kBytes, &place);
}

void* map(const Queue& queue, const Memory& buffer, cl_map_flags flags) {
  cl_int code = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(queue.get(), buffer.get(), CL_TRUE, flags, 0, kBytes, 0,
                                    nullptr, nullptr, &code);
  OCL(code);
  return mapped;
}

void unmap(const Queue& queue, const Memory& buffer, void* mapped) {
  OCL(clEnqueueUnmapMemObject(queue.get(), buffer.get(), mapped, 0, nullptr, nullptr));
}

void start(const Queue& queue, const Kernel& kernel) {
  OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr));
  OCL(clFinish(queue.get()));
}

// The host writes and reads the very memory the kernel uses.
void use_shared(const LoadedCard& card, unsigned int flags) {
  const Queue queue = card.queue();
  const Kernel vadd = card.kernel("vadd");
  const Memory a = extended(card, flags, CL_MEM_READ_ONLY);
  const Memory b = extended(card, flags, CL_MEM_READ_ONLY);
  const Memory out = extended(card, flags, CL_MEM_WRITE_ONLY);
  set_arguments(vadd.get(), a, b, out, kSize);
  const auto a_values = numbers(kSize, 11), b_values = numbers(kSize, 12);
  void* a_mapped = map(queue, a, CL_MAP_WRITE);
  void* b_mapped = map(queue, b, CL_MAP_WRITE);
  std::memcpy(a_mapped, a_values.data(), kBytes);
  std::memcpy(b_mapped, b_values.data(), kBytes);
  unmap(queue, a, a_mapped);
  unmap(queue, b, b_mapped);
  start(queue, vadd);
  void* sums = map(queue, out, CL_MAP_READ);
  check_sums(static_cast<const int*>(sums), a_values, b_values);
  unmap(queue, out, sums);
  OCL(clFinish(queue.get()));
}

// A result that stays on the card until it is copied into an ordinary buffer.
void use_device_only(const LoadedCard& card) {
  const Queue queue = card.queue();
  const Kernel vadd = card.kernel("vadd");
  auto a_values = numbers(kSize, 5), b_values = numbers(kSize, 7);
  const Memory a = card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kBytes, a_values.data());
  const Memory b = card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kBytes, b_values.data());
  const Memory hidden = card.buffer(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, kBytes);
  const Memory seen = card.buffer(CL_MEM_READ_WRITE, kBytes);
  set_arguments(vadd.get(), a, b, hidden, kSize);
  start(queue, vadd);
  std::vector<int> sums(kSize);
  CHECK(clEnqueueReadBuffer(queue.get(), hidden.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                            nullptr) != CL_SUCCESS);
  set_arguments(vadd.get(), hidden, b, seen, kSize);  // the hidden result is an input
  start(queue, vadd);
  OCL(clEnqueueReadBuffer(queue.get(), seen.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                          nullptr));
  for (unsigned int i = 0; i < kSize; ++i) CHECK_EQ(sums[i], a_values[i] + 2 * b_values[i]);
  OCL(clEnqueueCopyBuffer(queue.get(), hidden.get(), seen.get(), 0, 0, kBytes, 0, nullptr,
                          nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), seen.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                          nullptr));
  check_sums(sums.data(), a_values, b_values);
}

void place(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  use_shared(card, XCL_MEM_EXT_P2P_BUFFER);
  use_shared(card, XCL_MEM_EXT_HOST_ONLY);
  use_device_only(card);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, place); }
