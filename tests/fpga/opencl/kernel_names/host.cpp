// SPDX-License-Identifier: Apache-2.0
//
// Exercises: kernels by name and by `name:{unit}`, names that do not exist, the kernels of a
// program, its device list and binary; xclGetComputeUnitInfo for every unit.
#include <algorithm>

// This program is written for the binding's present form: a binary is a vector of bytes.
#undef CL_HPP_ENABLE_PROGRAM_CONSTRUCTION_FROM_ARRAY_COMPATIBILITY
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/opencl.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 128;

cl_uint num_units(const cl::Kernel& kernel) {
  cl_uint count = 0;
  OCL(clGetKernelInfo(kernel(), CL_KERNEL_COMPUTE_UNIT_COUNT, sizeof(count), &count, nullptr));
  return count;
}

std::string unit_name(const cl::Kernel& kernel, cl_uint unit) {
  char name[64] = {};
  OCL(OCL_EXTENSION(xclGetComputeUnitInfo)(kernel(), unit, XCL_COMPUTE_UNIT_NAME, sizeof(name),
                                           name, nullptr));
  return name;
}

void check_units(const cl::Program& program) {
  cl_int code = CL_SUCCESS;
  const cl::Kernel both(program, "vadd", &code);
  OCL(code);
  CHECK_EQ(num_units(both), 2u);
  cl_uint indices[2] = {};
  size_t addresses[2] = {};
  for (cl_uint unit = 0; unit < 2; ++unit) {
    OCL(OCL_EXTENSION(xclGetComputeUnitInfo)(both(), unit, XCL_COMPUTE_UNIT_INDEX, sizeof(cl_uint),
                                             &indices[unit], nullptr));
    OCL(OCL_EXTENSION(xclGetComputeUnitInfo)(both(), unit, XCL_COMPUTE_UNIT_BASE_ADDRESS,
                                             sizeof(size_t), &addresses[unit], nullptr));
  }
  CHECK(indices[0] != indices[1]);
  CHECK(addresses[0] != addresses[1]);
  CHECK(unit_name(both, 0) != unit_name(both, 1));
  const cl::Kernel second(program, "vadd:{vadd_2}", &code);
  OCL(code);
  CHECK_EQ(num_units(second), 1u);
  CHECK_EQ(unit_name(second, 0) == "vadd_2", true);
  const cl::Kernel named(program, "vadd:{vadd_1,vadd_2}", &code);
  OCL(code);
  CHECK_EQ(num_units(named), 2u);
}

void check_missing(const cl::Program& program) {
  for (const char* name : {"vsub", "vadd:{vadd_3}", "", "vadd:"}) {
    cl_int code = CL_SUCCESS;
    const cl::Kernel missing(program, name, &code);
    CHECK(code != CL_SUCCESS);
    CHECK(missing() == nullptr);
  }
}

void check_program(cl::Program& program, const std::vector<unsigned char>& bytes) {
  CHECK_EQ(program.getInfo<CL_PROGRAM_KERNEL_NAMES>() == "vadd", true);
  CHECK_EQ(program.getInfo<CL_PROGRAM_NUM_KERNELS>(), 1u);
  CHECK_EQ(program.getInfo<CL_PROGRAM_NUM_DEVICES>(), 1u);
  const auto sizes = program.getInfo<CL_PROGRAM_BINARY_SIZES>();
  CHECK(sizes.size() == 1 && sizes[0] == bytes.size());
  const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  CHECK(binaries.size() == 1 && binaries[0] == bytes);
  std::vector<cl::Kernel> kernels;
  OCL(program.createKernels(&kernels));
  CHECK_EQ(kernels.size(), 1u);
}

void name(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  cl_int code = CL_SUCCESS;
  cl::Program program(context, {device}, cl::Program::Binaries{bytes}, nullptr, &code);
  OCL(code);
  check_program(program, bytes);
  check_units(program);
  check_missing(program);
  cl::CommandQueue queue(context, device);
  auto a = numbers(kSize, 3), b = numbers(kSize, 5);
  for (const char* unit : {"vadd:{vadd_1}", "vadd:{vadd_2}"}) {
    cl::Kernel vadd(program, unit);
    cl::Buffer a_buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, a.data());
    cl::Buffer b_buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, b.data());
    cl::Buffer out(context, CL_MEM_WRITE_ONLY, kSize * 4);
    OCL(vadd.setArg(0, a_buffer));
    OCL(vadd.setArg(1, b_buffer));
    OCL(vadd.setArg(2, out));
    OCL(vadd.setArg(3, kSize));
    OCL(clEnqueueTask(queue(), vadd(), 0, nullptr, nullptr));
    std::vector<int> sums(kSize);
    OCL(queue.enqueueReadBuffer(out, CL_TRUE, 0, kSize * 4, sums.data()));
    check_sums(sums.data(), a, b);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, name); }
