// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the vendor's extensions for buffers: a buffer's descriptor imported into another
// context's device (xclGetMemObjectFd, xclGetMemObjectFromFd), device addresses, the XRT device
// behind an OpenCL one.
#include <unistd.h>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 1024;
constexpr size_t kBytes = kSize * 4;

Memory peer_buffer(const LoadedCard& card) {
  cl_mem_ext_ptr_t place{};
  place.flags = XCL_MEM_EXT_P2P_BUFFER;
  return card.buffer(CL_MEM_READ_WRITE | CL_MEM_EXT_PTR_XILINX, kBytes, &place);
}

void add(const LoadedCard& card, const Queue& queue, const Memory& out, const std::vector<int>& a,
         const std::vector<int>& b) {
  const Kernel vadd = card.kernel("vadd");
  const Memory a_buffer =
      card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kBytes, const_cast<int*>(a.data()));
  const Memory b_buffer =
      card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kBytes, const_cast<int*>(b.data()));
  set_arguments(vadd.get(), a_buffer, b_buffer, out, kSize);
  OCL(clEnqueueTask(queue.get(), vadd.get(), 0, nullptr, nullptr));
  OCL(clFinish(queue.get()));
}

void check_address(const LoadedCard& card, const Memory& buffer) {
  const auto address_of = OCL_EXTENSION(xclGetMemObjDeviceAddress);
  uint64_t address = 0;
  OCL(address_of(buffer.get(), card.device, sizeof(address), &address));
  CHECK_EQ(address % 4096, 0u);
  CHECK(address_of(nullptr, card.device, sizeof(address), &address) != CL_SUCCESS);
  CHECK_EQ(address_of(buffer.get(), card.device, 4, &address), CL_INVALID_VALUE);
  cl_int code = CL_SUCCESS;
  CHECK(OCL_EXTENSION(xclGetXrtDevice)(card.device, &code) != nullptr);
  CHECK_EQ(code, CL_SUCCESS);
}

void exchange(const Arguments& arguments) {
  const LoadedCard first(arguments.xclbin, 0), second(arguments.xclbin, 1);
  const Queue first_queue = first.queue(), second_queue = second.queue();
  const auto a = numbers(kSize, 1), b = numbers(kSize, 2);
  const Memory source = peer_buffer(first);
  add(first, first_queue, source, a, b);
  check_address(first, source);

  int descriptor = -1;
  OCL(OCL_EXTENSION(xclGetMemObjectFd)(source.get(), &descriptor));
  cl_mem imported = nullptr;
  OCL(OCL_EXTENSION(xclGetMemObjectFromFd)(second.context.get(), second.device, 0, descriptor,
                                           &imported));
  const Memory seen(imported);
  const Memory target = second.buffer(CL_MEM_READ_WRITE, kBytes);
  const cl_mem target_object = target.get();
  OCL(clEnqueueMigrateMemObjects(second_queue.get(), 1, &target_object,
                                 CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, nullptr));
  OCL(clEnqueueCopyBuffer(second_queue.get(), seen.get(), target.get(), 0, 0, kBytes, 0, nullptr,
                          nullptr));
  std::vector<int> sums(kSize);
  OCL(clEnqueueReadBuffer(second_queue.get(), target.get(), CL_TRUE, 0, kBytes, sums.data(), 0,
                          nullptr, nullptr));
  check_sums(sums.data(), a, b);
  close(descriptor);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, exchange); }
