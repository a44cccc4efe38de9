// SPDX-License-Identifier: Apache-2.0
//
// Exercises: clSetKernelArg with every scalar type and a structure, indices and sizes that are
// wrong, values that change between launches; clGetKernelInfo, clGetKernelArgInfo,
// clGetKernelWorkGroupInfo.
#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kValues = 13;
// libxilinxopencl answers with the qualifiers of the xclbin, not with OpenCL's.
constexpr cl_kernel_arg_address_qualifier kScalar = 0, kGlobal = 1;

struct Pair {
  cl_int first;
  cl_float second;
};

std::string argument_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info key) {
  char text[64] = {};
  OCL(clGetKernelArgInfo(kernel, index, key, sizeof(text), text, nullptr));
  return text;
}

void check_information(cl_kernel kernel, const LoadedCard& card) {
  char name[32] = {};
  OCL(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, nullptr));
  CHECK_EQ(std::string(name) == "scalars", true);
  cl_uint count = 0;
  OCL(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr));
  CHECK_EQ(count, kValues);
  cl_program program = nullptr;
  OCL(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, nullptr));
  CHECK(program == card.program.get());
  CHECK_EQ(argument_text(kernel, 0, CL_KERNEL_ARG_NAME) == "out", true);
  CHECK_EQ(argument_text(kernel, 8, CL_KERNEL_ARG_NAME) == "ul", true);
  cl_kernel_arg_address_qualifier qualifier = 0;
  OCL(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier,
                         nullptr));
  CHECK_EQ(qualifier, kGlobal);
  OCL(clGetKernelArgInfo(kernel, 5, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier,
                         nullptr));
  CHECK_EQ(qualifier, kScalar);
  size_t group = 0;
  OCL(clGetKernelWorkGroupInfo(kernel, card.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(group),
                               &group, nullptr));
  CHECK(group >= 1);
  CHECK(clGetKernelInfo(kernel, 0x7fff, sizeof(count), &count, nullptr) != CL_SUCCESS);
}

void check_refusals(cl_kernel kernel, const Memory& out) {
  const cl_int value = 1;
  const cl_long wide = 1;
  CHECK(clSetKernelArg(kernel, kValues, sizeof(value), &value) != CL_SUCCESS);
  CHECK(clSetKernelArg(kernel, 1000, sizeof(value), &value) != CL_SUCCESS);
  CHECK_EQ(clSetKernelArg(kernel, 5, sizeof(wide), &wide), CL_INVALID_ARG_SIZE);
  CHECK_EQ(clSetKernelArg(kernel, 7, sizeof(value), &value), CL_INVALID_ARG_SIZE);
  CHECK_EQ(clSetKernelArg(kernel, 0, 4, &out), CL_INVALID_ARG_SIZE);
  CHECK_EQ(clSetKernelArg(nullptr, 0, sizeof(out), &out), CL_INVALID_KERNEL);
}

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("scalars");
  const Memory out = card.buffer(CL_MEM_WRITE_ONLY, kValues * sizeof(double));
  check_information(kernel.get(), card);
  CHECK_EQ(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr), CL_INVALID_KERNEL_ARGS);
  check_refusals(kernel.get(), out);
  for (int round = 0; round < 3; ++round) {
    const Pair pair{-7 - round, 0.25f};
    set_arguments(kernel.get(), out, cl_char(-3 - round), cl_uchar(250), cl_short(-30000),
                  cl_ushort(60000), cl_int(-2000000000), cl_uint(4000000000u),
                  cl_long(-(cl_long{1} << 40) - round), cl_ulong{1} << 52, cl_float(1.5f),
                  cl_double(-2.125), cl_uchar(1), pair);
    OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr));
    double values[kValues] = {};
    OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, sizeof(values), values, 0, nullptr,
                            nullptr));
    const double expected[kValues] = {
        -3.0 - round, 250, -30000, 60000, -2e9,         4e9, -0x1p40 - round,
        0x1p52,       1.5, -2.125, 1,     -7.0 - round, 0.25};
    for (size_t i = 0; i < kValues; ++i) CHECK_EQ(values[i], expected[i]);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
