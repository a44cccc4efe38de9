// SPDX-License-Identifier: Apache-2.0
//
// Exercises: CL_MEM_EXT_PTR_XILINX with XCL_MEM_DDR_BANKn, with XCL_MEM_TOPOLOGY | n, with a kernel
// and an argument, and with a host pointer; the address and the bank a buffer has; a bank no unit
// is connected to. In software emulation XRT puts everything into bank 0.
#include <cstdlib>
#include <cstring>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 2000;
constexpr size_t kBytes = kSize * 4;
constexpr uint64_t kBankBytes = uint64_t{512} << 20;  // of the u55c's HBM

bool banks_count() {
  const char* mode = std::getenv("XCL_EMULATION_MODE");
  return mode == nullptr || std::strcmp(mode, "sw_emu") != 0;
}

Memory placed(const LoadedCard& card, cl_mem_ext_ptr_t place, cl_mem_flags flags = 0) {
  return card.buffer(CL_MEM_READ_WRITE | CL_MEM_EXT_PTR_XILINX | flags, kBytes, &place);
}

Memory in_bank(const LoadedCard& card, unsigned int flags) {
  cl_mem_ext_ptr_t place{};
  place.flags = flags;
  return placed(card, place);
}

uint64_t address_of(const LoadedCard& card, const Memory& buffer) {
  uint64_t address = 0;
  OCL(OCL_EXTENSION(xclGetMemObjDeviceAddress)(buffer.get(), card.device, sizeof(address),
                                               &address));
  return address;
}

void check_bank(const LoadedCard& card, const Memory& buffer, uint64_t bank) {
  if (!banks_count()) return;
  CHECK_EQ(address_of(card, buffer) / kBankBytes, bank);
}

void add(const LoadedCard& card, const Memory& a, const Memory& b, const Memory& out) {
  const Queue queue = card.queue();
  const Kernel vadd = card.kernel("vadd");
  const auto a_values = numbers(kSize, 2), b_values = numbers(kSize, 3);
  set_arguments(vadd.get(), a, b, out, kSize);
  OCL(clEnqueueWriteBuffer(queue.get(), a.get(), CL_TRUE, 0, kBytes, a_values.data(), 0, nullptr,
                           nullptr));
  OCL(clEnqueueWriteBuffer(queue.get(), b.get(), CL_TRUE, 0, kBytes, b_values.data(), 0, nullptr,
                           nullptr));
  OCL(clEnqueueTask(queue.get(), vadd.get(), 0, nullptr, nullptr));
  std::vector<int> sums(kSize);
  OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                          nullptr));
  check_sums(sums.data(), a_values, b_values);
  check_bank(card, a, 1);
  check_bank(card, b, 4);
  check_bank(card, out, 7);
}

void place_by_topology(const LoadedCard& card) {
  add(card, in_bank(card, XCL_MEM_TOPOLOGY | 1u), in_bank(card, XCL_MEM_TOPOLOGY | 4u),
      in_bank(card, XCL_MEM_TOPOLOGY | 7u));
}

void place_by_argument(const LoadedCard& card) {
  const Kernel vadd = card.kernel("vadd");
  Memory buffers[3];
  for (unsigned int argument = 0; argument < 3; ++argument) {
    cl_mem_ext_ptr_t place{};
    place.argidx = argument;
    place.kernel = vadd.get();
    buffers[argument] = placed(card, place);
  }
  add(card, buffers[0], buffers[1], buffers[2]);
}

void place_with_host_pointer(const LoadedCard& card) {
  auto values = numbers(kSize, 2);
  cl_mem_ext_ptr_t place{};
  place.flags = XCL_MEM_TOPOLOGY | 1u;
  place.obj = values.data();
  const Memory a = placed(card, place, CL_MEM_COPY_HOST_PTR);
  add(card, a, in_bank(card, XCL_MEM_TOPOLOGY | 4u), in_bank(card, XCL_MEM_TOPOLOGY | 7u));
}

// The flags of boards with four DDR banks: bank n is the memory `bankn`, else memory n.
void place_by_ddr_bank(const LoadedCard& card) {
  const Memory a = in_bank(card, XCL_MEM_DDR_BANK1);
  add(card, a, in_bank(card, XCL_MEM_TOPOLOGY | 4u), in_bank(card, XCL_MEM_TOPOLOGY | 7u));
}

void check_wrong_bank(const LoadedCard& card) {
  if (!banks_count()) return;
  const Kernel vadd = card.kernel("vadd");
  const Memory elsewhere = in_bank(card, XCL_MEM_TOPOLOGY | 9u);
  const cl_mem buffer = elsewhere.get();
  CHECK(clSetKernelArg(vadd.get(), 0, sizeof(buffer), &buffer) != CL_SUCCESS);
}

void place(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  place_by_topology(card);
  place_by_argument(card);
  place_with_host_pointer(card);
  place_by_ddr_bank(card);
  check_wrong_bank(card);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, place); }
