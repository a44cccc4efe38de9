// SPDX-License-Identifier: Apache-2.0
//
// Exercises: mapping parts of a buffer for reading and writing, fills, copies between buffers with
// offsets, rectangles read, written and copied, and ranges that are refused.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kWidth = 40, kHeight = 25, kSize = kWidth * kHeight;
constexpr size_t kBytes = kSize * 4;

struct Rig {
  explicit Rig(const std::string& xclbin)
      : device(xilinx_devices().at(0)),
        context(device),
        bytes(read_file(xclbin)),
        program(context, {device}, {{bytes.data(), bytes.size()}}),
        queue(context, device),
        scale(program, "scale"),
        data(context, CL_MEM_READ_WRITE, kBytes),
        other(context, CL_MEM_READ_WRITE, kBytes) {
    OCL(scale.setArg(0, data));
    OCL(scale.setArg(1, 10));
    OCL(scale.setArg(2, kSize));
    OCL(queue.enqueueMigrateMemObjects({data, other}, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED));
  }
  std::vector<int> read(const cl::Buffer& buffer) {
    std::vector<int> values(kSize);
    OCL(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, kBytes, values.data()));
    return values;
  }

  cl::Device device;
  cl::Context context;
  std::vector<unsigned char> bytes;
  cl::Program program;
  cl::CommandQueue queue;
  cl::Kernel scale;
  cl::Buffer data, other;
};

void map_and_fill(Rig& rig) {
  OCL(rig.queue.enqueueFillBuffer(rig.data, cl_int{7}, 0, kBytes));
  auto* part = static_cast<int*>(rig.queue.enqueueMapBuffer(
      rig.data, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 4 * kWidth, 4 * kWidth));
  CHECK_EQ(part[0], 7);
  for (unsigned int x = 0; x < kWidth; ++x) part[x] = static_cast<int>(x);
  OCL(rig.queue.enqueueUnmapMemObject(rig.data, part));
  OCL(rig.queue.enqueueTask(rig.scale));
  const auto values = rig.read(rig.data);
  for (unsigned int i = 0; i < kSize; ++i) {
    const int before = i / kWidth == 1 ? static_cast<int>(i % kWidth) : 7;
    CHECK_EQ(values[i], before * 10 + 1);
  }
}

void copy(Rig& rig) {
  const auto values = numbers(kSize, 4);
  OCL(rig.queue.enqueueWriteBuffer(rig.data, CL_TRUE, 0, kBytes, values.data()));
  OCL(rig.queue.enqueueFillBuffer(rig.other, cl_int{-1}, 0, kBytes));
  OCL(rig.queue.enqueueCopyBuffer(rig.data, rig.other, 4 * 100, 4 * 300, 4 * 50));
  OCL(rig.queue.finish());
  const auto copied = rig.read(rig.other);
  for (int i = 0; i < static_cast<int>(kSize); ++i) {
    CHECK_EQ(copied[i], i >= 300 && i < 350 ? values[i - 200] : -1);
  }
}

// libxilinxopencl moves rectangles in the host's copies, at once: so these buffers stay off the
// card.
void use_rectangles(Rig& rig) {
  const auto values = numbers(kSize, 9);
  std::vector<int> zeros(kSize);
  cl::Buffer data(rig.context, CL_MEM_COPY_HOST_PTR, kBytes, zeros.data());
  cl::Buffer other(rig.context, CL_MEM_COPY_HOST_PTR, kBytes, zeros.data());
  const cl::array<cl::size_type, 3> origin{4 * 3, 2, 0}, zero{0, 0, 0}, region{4 * 10, 5, 1};
  OCL(rig.queue.enqueueWriteBufferRect(data, CL_TRUE, origin, zero, region, 4 * kWidth, 0, 4 * 10,
                                       0, values.data()));
  const auto whole = rig.read(data);
  int cut[50] = {};
  OCL(rig.queue.enqueueReadBufferRect(data, CL_TRUE, origin, zero, region, 4 * kWidth, 0, 4 * 10, 0,
                                      cut));
  OCL(rig.queue.enqueueCopyBufferRect(data, other, origin, zero, region, 4 * kWidth, 0, 4 * kWidth,
                                      0));
  const auto moved = rig.read(other);
  for (unsigned int y = 0; y < kHeight; ++y) {
    for (unsigned int x = 0; x < kWidth; ++x) {
      const bool inside = x >= 3 && x < 13 && y >= 2 && y < 7;
      CHECK_EQ(whole[y * kWidth + x], inside ? values[(y - 2) * 10 + x - 3] : 0);
      CHECK_EQ(moved[y * kWidth + x], x < 10 && y < 5 ? values[y * 10 + x] : 0);
    }
  }
  for (int i = 0; i < 50; ++i) CHECK_EQ(cut[i], values[i]);
}

void check_refusals(Rig& rig) {
  int value = 0;
  CHECK_EQ(rig.queue.enqueueReadBuffer(rig.data, CL_TRUE, kBytes, 4, &value), CL_INVALID_VALUE);
  CHECK_EQ(rig.queue.enqueueWriteBuffer(rig.data, CL_TRUE, 0, 4, nullptr), CL_INVALID_VALUE);
  CHECK(rig.queue.enqueueCopyBuffer(rig.data, rig.other, 0, kBytes - 4, 8) != CL_SUCCESS);
  CHECK(rig.queue.enqueueFillBuffer(rig.data, cl_int{1}, 0, kBytes + 4) != CL_SUCCESS);
}

void move(const Arguments& arguments) {
  Rig rig(arguments.xclbin);
  map_and_fill(rig);
  copy(rig);
  use_rectangles(rig);
  check_refusals(rig);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, move); }
