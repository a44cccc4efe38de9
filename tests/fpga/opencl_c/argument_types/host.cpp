// SPDX-License-Identifier: Apache-2.0
//
// Exercises: arguments of every scalar type, vectors, a structure by value and by pointer,
// __constant and __local pointers, wrong sizes, and the runtime's information about arguments.
#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kValues = 19;

struct alignas(16) Record {
  cl_int whole;
  cl_float4 four;
  cl_short pair[2];
};

void set_all(cl_kernel kernel, const Memory& out, const Memory& table, const Memory& records,
             const Record& record) {
  const cl_float4 f4 = {{1.5f, 2, 3, 4}};
  const cl_int2 i2 = {{-5, -6}};
  cl_uchar16 uc16 = {};
  uc16.s[15] = 200;
  const cl_float3 f3 = {{7, 8, 9.25f, 0}};
  set_arguments(kernel, out, cl_char(-3), cl_uchar(250), cl_short(-30000), cl_ushort(60000),
                cl_int(-2000000000), cl_uint(4000000000u), -(cl_long{1} << 40), cl_ulong{1} << 52,
                cl_float(1.5f), cl_double(-2.125), record, f4, i2, uc16, f3, table, records);
  OCL(clSetKernelArg(kernel, 18, 16384, nullptr));
  const cl_ulong size = 12345678901;
  OCL(clSetKernelArg(kernel, 19, sizeof(size), &size));
}

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("typed");
  const Record record = {42, {{10, 20, 30, 40.5f}}, {7, -8}};
  const int numbers_of_table[4] = {1, 2, 3, 4};
  const Memory out = card.buffer(CL_MEM_WRITE_ONLY, kValues * sizeof(double));
  const Memory table = card.buffer(CL_MEM_READ_ONLY, sizeof(numbers_of_table));
  const Memory records = card.buffer(CL_MEM_READ_WRITE, 2 * sizeof(Record));
  OCL(clEnqueueWriteBuffer(queue.get(), table.get(), CL_TRUE, 0, sizeof(numbers_of_table),
                           numbers_of_table, 0, nullptr, nullptr));
  set_all(kernel.get(), out, table, records, record);
  const cl_long wide = 1;
  CHECK_EQ(clSetKernelArg(kernel.get(), 5, sizeof(wide), &wide), CL_INVALID_ARG_SIZE);
  CHECK_EQ(clSetKernelArg(kernel.get(), 18, 1 << 20, nullptr), CL_INVALID_ARG_SIZE);
  cl_uint count = 0;
  OCL(clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr));
  CHECK_EQ(count, 20u);
  char name[32] = {};
  OCL(clGetKernelArgInfo(kernel.get(), 12, CL_KERNEL_ARG_NAME, sizeof(name), name, nullptr));
  CHECK_EQ(std::string(name) == "f4", true);
  OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr));
  double values[kValues] = {};
  OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, sizeof(values), values, 0, nullptr,
                          nullptr));
  const double expected[kValues] = {-3,     250, -30000, 60000, -2e9,       4e9, -0x1p40,
                                    0x1p52, 1.5, -2.125, 42,    40.5,       -8,  5.5,
                                    -6,     200, 9.25,   3,     12345678901};
  for (size_t i = 0; i < kValues; ++i) CHECK_EQ(values[i], expected[i]);
  Record written = {};
  OCL(clEnqueueReadBuffer(queue.get(), records.get(), CL_TRUE, sizeof(Record), sizeof(Record),
                          &written, 0, nullptr, nullptr));
  CHECK_EQ(written.whole, 43);
  CHECK_EQ(written.four.s[3], 40.5f);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
