// SPDX-License-Identifier: Apache-2.0
//
// Exercises: one buffer cut into sub-buffers that are arguments of several launches; what lies
// between them stays as it was; transfers through parent and part; origins and sizes that are
// refused.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/opencl.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kPartBytes = 4096;
constexpr unsigned int kPartSize = kPartBytes / 4;
constexpr int kParts = 6;

cl::Buffer part_of(cl::Buffer& whole, size_t origin, size_t size, cl_int* code = nullptr) {
  const cl_buffer_region region{origin, size};
  return whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, code);
}

void cut(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  cl::Program program(context, {device}, {{bytes.data(), bytes.size()}});
  cl::CommandQueue queue(context, device);
  cl::Kernel scale(program, "scale");

  auto values = numbers(kParts * kPartSize, 5);
  cl::Buffer whole(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kParts * kPartBytes,
                   values.data());
  std::vector<cl::Buffer> parts;
  for (int part = 0; part < kParts; ++part) {
    parts.push_back(part_of(whole, part * kPartBytes, kPartBytes));
  }
  OCL(queue.enqueueMigrateMemObjects({whole}, 0));
  for (int part = 0; part < kParts; part += 2) {  // every other one
    OCL(scale.setArg(0, parts[part]));
    OCL(scale.setArg(1, part + 2));
    OCL(scale.setArg(2, kPartSize));
    OCL(clEnqueueTask(queue(), scale(), 0, nullptr, nullptr));
    OCL(queue.finish());
  }
  std::vector<int> results(kParts * kPartSize);
  for (int part = 0; part < kParts; ++part) {
    OCL(queue.enqueueReadBuffer(parts[part], CL_TRUE, 0, kPartBytes, &results[part * kPartSize]));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const int part = static_cast<int>(i / kPartSize);
    CHECK_EQ(results[i], part % 2 == 0 ? values[i] * (part + 2) + 1 : values[i]);
  }
  CHECK(parts[1].getInfo<CL_MEM_ASSOCIATED_MEMOBJECT>()() == whole());
  CHECK_EQ(parts[2].getInfo<CL_MEM_OFFSET>(), 2 * kPartBytes);
  cl_int code = CL_SUCCESS;
  part_of(whole, kParts * kPartBytes, kPartBytes, &code);
  CHECK_EQ(code, CL_INVALID_VALUE);
  part_of(whole, 0, 0, &code);
  CHECK(code != CL_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, cut); }
