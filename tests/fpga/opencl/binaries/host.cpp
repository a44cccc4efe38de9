// SPDX-License-Identifier: Apache-2.0
//
// Exercises: clCreateProgramWithBinary with bad binaries: empty, truncated, of another kind, with a
// damaged header; wrong counts; one binary for two devices. Each gives an error code and no
// program, and a good binary works on the same device afterwards.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>
#include <algorithm>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 300;
constexpr size_t kTablesEnd = 1200;

cl_int code_of(const cl::Context& context, const cl::Device& device,
               const std::vector<unsigned char>& bytes) {
  std::vector<cl_int> status;
  cl_int code = CL_SUCCESS;
  cl::Program program(context, {device}, {{bytes.data(), bytes.size()}}, &status, &code);
  if (code != CL_SUCCESS) CHECK(program() == nullptr);
  return code;
}

// The first `size` bytes.
std::vector<unsigned char> cut(std::vector<unsigned char> bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

void check_bad_binaries(const cl::Context& context, const cl::Device& device,
                        const std::vector<unsigned char>& good) {
  CHECK(code_of(context, device, std::vector<unsigned char>(4096, 'x')) != CL_SUCCESS);
  CHECK(code_of(context, device, read_file("/proc/self/exe")) != CL_SUCCESS);
  // Every length up to the sections' bodies, and many in them.
  for (size_t size = 1; size < good.size(); size += size < kTablesEnd ? 1 : 97) {
    CHECK(code_of(context, device, cut(good, size)) != CL_SUCCESS);
  }
  CHECK(code_of(context, device, cut(good, good.size() - 1)) != CL_SUCCESS);
  std::vector<unsigned char> damaged = good;
  damaged[0] ^= 1;  // the magic
  CHECK(code_of(context, device, damaged) != CL_SUCCESS);
}

void check_wrong_calls(const cl::Context& context, const cl::Device& device) {
  const cl_device_id id = device();
  const unsigned char* nothing = nullptr;
  const size_t zero = 0, one = 1;
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  const unsigned char byte = 0;
  const unsigned char* some = &byte;
  clCreateProgramWithBinary(context(), 1, &id, &zero, &some, &status, &code);
  CHECK_EQ(code, CL_INVALID_VALUE);
  clCreateProgramWithBinary(context(), 1, &id, &one, &nothing, &status, &code);
  CHECK_EQ(code, CL_INVALID_VALUE);
  clCreateProgramWithBinary(context(), 0, nullptr, &one, &some, &status, &code);
  CHECK_EQ(code, CL_INVALID_VALUE);
}

void add(const cl::Context& context, const cl::Device& device, const cl::Program& program) {
  cl::CommandQueue queue(context, device);
  cl::Kernel vadd(program, "vadd");
  auto a = numbers(kSize, 4), b = numbers(kSize, 9);
  std::vector<int> sums(kSize);
  cl::Buffer a_buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, a.data());
  cl::Buffer b_buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, b.data());
  cl::Buffer out(context, CL_MEM_WRITE_ONLY, kSize * 4);
  OCL(vadd.setArg(0, a_buffer));
  OCL(vadd.setArg(1, b_buffer));
  OCL(vadd.setArg(2, out));
  OCL(vadd.setArg(3, kSize));
  OCL(queue.enqueueTask(vadd));
  OCL(queue.enqueueReadBuffer(out, CL_TRUE, 0, kSize * 4, sums.data()));
  check_sums(sums.data(), a, b);
}

void load(const Arguments& arguments) {
  const auto ids = xilinx_devices();
  CHECK_EQ(ids.size(), 2u);
  const std::vector<cl::Device> devices{cl::Device(ids.at(0)), cl::Device(ids.at(1))};
  const std::vector<unsigned char> good = read_file(arguments.xclbin);
  cl::Context context(devices);
  check_bad_binaries(context, devices[0], good);
  check_wrong_calls(context, devices[0]);
  std::vector<cl_int> status;
  cl_int code = CL_SUCCESS;
  const cl::Program::Binaries both(2, {good.data(), good.size()});
  cl::Program program(context, devices, both, &status, &code);
  OCL(code);
  CHECK(std::all_of(status.begin(), status.end(), [](cl_int each) { return each == CL_SUCCESS; }));
  CHECK_EQ(program.build(devices), CL_SUCCESS);
  for (const cl::Device& device : devices) add(context, device, program);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, load); }
