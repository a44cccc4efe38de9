// SPDX-License-Identifier: Apache-2.0
//
// Exercises: buffers with CL_MEM_USE_HOST_PTR on aligned and misaligned memory,
// CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR, read-only and write-only access, and sizes or flags
// that are refused.
#include <cstdlib>

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 5000;
constexpr size_t kBytes = kSize * 4;

struct Rig {
  explicit Rig(const std::string& xclbin)
      : device(xilinx_devices().at(0)),
        context(device),
        bytes(read_file(xclbin)),
        program(context, {device}, {{bytes.data(), bytes.size()}}),
        queue(context, device),
        vadd(program, "vadd") {}

  void run(const cl::Buffer& a, const cl::Buffer& b, const cl::Buffer& out) {
    OCL(vadd.setArg(0, a));
    OCL(vadd.setArg(1, b));
    OCL(vadd.setArg(2, out));
    OCL(vadd.setArg(3, kSize));
    OCL(queue.enqueueMigrateMemObjects({a, b}, 0));
    OCL(queue.enqueueTask(vadd));
    OCL(queue.enqueueMigrateMemObjects({out}, CL_MIGRATE_MEM_OBJECT_HOST));
    OCL(queue.finish());
  }

  cl::Device device;
  cl::Context context;
  std::vector<unsigned char> bytes;
  cl::Program program;
  cl::CommandQueue queue;
  cl::Kernel vadd;
};

// The program's own memory, `shift` bytes behind a page's begin.
void use_host_memory(Rig& rig, size_t shift) {
  const size_t room = (kBytes + shift + 4095) / 4096 * 4096;
  std::unique_ptr<char, decltype(&std::free)> memory[3] = {
      {static_cast<char*>(std::aligned_alloc(4096, room)), std::free},
      {static_cast<char*>(std::aligned_alloc(4096, room)), std::free},
      {static_cast<char*>(std::aligned_alloc(4096, room)), std::free}};
  const auto a = numbers(kSize, 1), b = numbers(kSize, 6);
  int* places[3];
  for (int index = 0; index < 3; ++index) {
    places[index] = reinterpret_cast<int*>(memory[index].get() + shift);
  }
  std::copy(a.begin(), a.end(), places[0]);
  std::copy(b.begin(), b.end(), places[1]);
  std::fill_n(places[2], kSize, -1);
  cl::Buffer a_buffer(rig.context, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, kBytes, places[0]);
  cl::Buffer b_buffer(rig.context, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, kBytes, places[1]);
  cl::Buffer out(rig.context, CL_MEM_USE_HOST_PTR | CL_MEM_WRITE_ONLY, kBytes, places[2]);
  rig.run(a_buffer, b_buffer, out);
  check_sums(places[2], a, b);
  places[0][5] += 100;  // seen by the card after the next migration
  rig.run(a_buffer, b_buffer, out);
  CHECK_EQ(places[2][5], a[5] + b[5] + 100);
}

void use_library_memory(Rig& rig) {
  auto a = numbers(kSize, 2);
  cl::Buffer a_buffer(rig.context, CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY, kBytes, a.data());
  cl::Buffer b_buffer(rig.context, CL_MEM_ALLOC_HOST_PTR | CL_MEM_READ_ONLY, kBytes);
  cl::Buffer out(rig.context, CL_MEM_ALLOC_HOST_PTR | CL_MEM_WRITE_ONLY, kBytes);
  const auto original = a;
  std::fill(a.begin(), a.end(), 0);  // it was copied
  OCL(rig.vadd.setArg(1, b_buffer));
  auto* b = static_cast<int*>(
      rig.queue.enqueueMapBuffer(b_buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, kBytes));
  const auto b_values = numbers(kSize, 8);
  std::copy(b_values.begin(), b_values.end(), b);
  OCL(rig.queue.enqueueUnmapMemObject(b_buffer, b));
  rig.run(a_buffer, b_buffer, out);
  const auto* sums =
      static_cast<int*>(rig.queue.enqueueMapBuffer(out, CL_TRUE, CL_MAP_READ, 0, kBytes));
  check_sums(sums, original, b_values);
}

void check_refusals(Rig& rig) {
  int value = 0;
  cl_int code = CL_SUCCESS;
  const auto code_of = [&](cl_mem_flags flags, size_t bytes, void* host) {
    cl::Buffer buffer(rig.context, flags, bytes, host, &code);
    return code;
  };
  CHECK_EQ(code_of(CL_MEM_READ_WRITE, 0, nullptr), CL_INVALID_BUFFER_SIZE);
  CHECK_EQ(code_of(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 4, nullptr), CL_INVALID_VALUE);
  CHECK_EQ(code_of(CL_MEM_USE_HOST_PTR, 4, nullptr), CL_INVALID_HOST_PTR);
  CHECK_EQ(code_of(CL_MEM_READ_WRITE, 4, &value), CL_INVALID_HOST_PTR);
}

void share(const Arguments& arguments) {
  Rig rig(arguments.xclbin);
  use_host_memory(rig, 0);
  use_host_memory(rig, 64);
  use_host_memory(rig, 4);
  use_library_memory(rig);
  check_refusals(rig);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, share); }
