// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the C API (xrtDeviceOpen and the others): devices, xclbins, buffers and sub-buffers,
// kernels and their registers, runs, callbacks. Each returns an error code for what does not exist.
#include <experimental/xrt_ini.h>
#include <experimental/xrt_xclbin.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <atomic>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kSize = 512;
constexpr size_t kBytes = kSize * sizeof(int);

void count_call(xrtRunHandle, ert_cmd_state, void* data) {
  ++*static_cast<std::atomic<int>*>(data);
}

struct Buffers {
  Buffers(xrtDeviceHandle device, xrtKernelHandle kernel) {
    for (int i = 0; i < 3; ++i) {
      handles[i] = xrtBOAlloc(device, kBytes, XRT_BO_FLAGS_NONE,
                              static_cast<xrtMemoryGroup>(xrtKernelArgGroupId(kernel, i)));
      CHECK(handles[i] != nullptr);
      values[i] = static_cast<int*>(xrtBOMap(handles[i]));
    }
    for (int i = 0; i < kSize; ++i) {
      values[0][i] = 10 * i;
      values[1][i] = i;
    }
    for (int i = 0; i < 2; ++i) {
      CHECK_EQ(xrtBOSync(handles[i], XCL_BO_SYNC_BO_TO_DEVICE, kBytes, 0), 0);
    }
  }
  ~Buffers() {
    for (void* handle : handles) CHECK_EQ(xrtBOFree(handle), 0);
  }
  void check() {
    CHECK_EQ(xrtBOSync(handles[2], XCL_BO_SYNC_BO_FROM_DEVICE, kBytes, 0), 0);
    for (int i = 0; i < kSize; ++i) CHECK_EQ(values[2][i], 9 * i);
  }
  xrtBufferHandle handles[3] = {};
  int* values[3] = {};
};

void launch(xrtKernelHandle kernel, Buffers& buffers) {
  auto& [a, b, out] = buffers.handles;
  xrtRunHandle run = xrtKernelRun(kernel, a, b, out, kSize);
  CHECK_EQ(xrtRunWait(run), ERT_CMD_STATE_COMPLETED);
  buffers.check();
  CHECK_EQ(xrtRunClose(run), 0);

  run = xrtRunOpen(kernel);
  CHECK_EQ(xrtRunSetArg(run, 0, a), 0);
  CHECK_EQ(xrtRunSetArg(run, 1, b), 0);
  CHECK_EQ(xrtRunSetArg(run, 2, out), 0);
  CHECK_EQ(xrtRunSetArg(run, 3, kSize), 0);
  CHECK(xrtRunSetArg(run, 9, kSize) != 0);
  std::atomic<int> calls{0};
  CHECK_EQ(xrtRunSetCallback(run, ERT_CMD_STATE_COMPLETED, &count_call, &calls), 0);
  CHECK_EQ(xrtRunStart(run), 0);
  CHECK_EQ(xrtRunWaitFor(run, 10000), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(xrtRunState(run), ERT_CMD_STATE_COMPLETED);
  while (calls == 0) usleep(1000);
  CHECK_EQ(xrtRunClose(run), 0);
}

void buffers_alone(xrtDeviceHandle device, Buffers& buffers) {
  const xrtBufferHandle view = xrtBOSubAlloc(buffers.handles[0], kBytes / 2, 0);
  CHECK_EQ(xrtBOSize(view), kBytes / 2);
  CHECK_EQ(xrtBOAddress(view), xrtBOAddress(buffers.handles[0]));
  CHECK_EQ(xrtBOFree(view), 0);
  int value = 0;
  CHECK_EQ(xrtBORead(buffers.handles[0], &value, sizeof(value), 8), 0);
  CHECK_EQ(value, 20);
  CHECK_EQ(xrtBOCopy(buffers.handles[2], buffers.handles[0], kBytes, 0, 0), 0);
  CHECK(xrtBOWrite(buffers.handles[0], &value, sizeof(value), kBytes) != 0);
  CHECK(xrtBOAlloc(device, size_t{1} << 45, 0, 0) == nullptr);
}

void registers(xrtDeviceHandle device, const xuid_t uuid, Buffers& buffers) {
  const xrtKernelHandle alone = xrtPLKernelOpenExclusive(device, uuid, "subtract");
  uint32_t value = 0;
  CHECK_EQ(xrtKernelArgOffset(alone, 0), 0x10u);
  CHECK_EQ(xrtKernelReadRegister(alone, 0, &value), 0);
  CHECK_EQ(value & 4u, 4u);
  CHECK_EQ(xrtKernelWriteRegister(alone, xrtKernelArgOffset(alone, 3), 5), 0);
  CHECK_EQ(xrtKernelReadRegister(alone, xrtKernelArgOffset(alone, 3), &value), 0);
  CHECK_EQ(value, 5u);
  CHECK(xrtKernelReadRegister(alone, 1 << 20, &value) != 0);
  launch(alone, buffers);
  CHECK_EQ(xrtKernelClose(alone), 0);
}

void in_c(const Arguments& arguments) {
  CHECK(xrtDeviceOpen(7) == nullptr);
  const xrtDeviceHandle device = xrtDeviceOpen(0);
  CHECK(xrtDeviceLoadXclbinFile(device, "/no/such/file.xclbin") != 0);
  CHECK_EQ(xrtDeviceLoadXclbinFile(device, arguments.xclbin.c_str()), 0);
  xuid_t uuid;
  CHECK_EQ(xrtDeviceGetXclbinUUID(device, uuid), 0);
  const xrtXclbinHandle xclbin = xrtXclbinAllocFilename(arguments.xclbin.c_str());
  xuid_t of_file;
  CHECK_EQ(xrtXclbinGetUUID(xclbin, of_file), 0);
  CHECK(std::equal(uuid, uuid + 16, of_file));
  CHECK_EQ(xrtXclbinGetNumKernels(xclbin), 1u);
  CHECK_EQ(xrtXclbinFreeHandle(xclbin), 0);

  CHECK(xrtPLKernelOpen(device, uuid, "no_such_kernel") == nullptr);
  const xrtKernelHandle kernel = xrtPLKernelOpen(device, uuid, "subtract");
  {
    Buffers buffers(device, kernel);
    launch(kernel, buffers);
    buffers_alone(device, buffers);
    CHECK_EQ(xrtKernelClose(kernel), 0);
    registers(device, uuid, buffers);
  }
  CHECK_EQ(xrtDeviceClose(device), 0);
  CHECK(xrtDeviceClose(device) != 0);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, in_c); }
