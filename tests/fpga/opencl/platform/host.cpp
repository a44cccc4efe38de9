// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the platform and a device's properties, before and after a program is loaded; keys
// that do not exist; the vendor's keys; several contexts.
#include <cstring>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 256;

template <typename T>
T device_info(cl_device_id device, cl_device_info key) {
  T value{};
  size_t size = 0;
  OCL(clGetDeviceInfo(device, key, sizeof(value), &value, &size));
  CHECK_EQ(size, sizeof(value));
  return value;
}

std::string device_text(cl_device_id device, cl_device_info key) {
  size_t size = 0;
  OCL(clGetDeviceInfo(device, key, 0, nullptr, &size));
  std::string text(size, '\0');
  OCL(clGetDeviceInfo(device, key, size, text.data(), nullptr));
  return text.c_str();
}

// Programs take the first platform; other drivers of the machine come after it.
void check_order() {
  cl_platform_id first = nullptr;
  cl_uint count = 0, all = 0;
  OCL(clGetPlatformIDs(1, &first, &count));
  OCL(clGetPlatformIDs(0, nullptr, &all));
  CHECK_EQ(count, all);
  CHECK(first == xilinx_platform());
}

void check_platform() {
  cl_platform_id platform = xilinx_platform();
  for (cl_platform_info key :
       {CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION, CL_PLATFORM_PROFILE, CL_PLATFORM_EXTENSIONS}) {
    char text[512] = {};
    CHECK_EQ(clGetPlatformInfo(platform, key, sizeof(text), text, nullptr), CL_SUCCESS);
    if (key == CL_PLATFORM_VENDOR) CHECK_EQ(std::strcmp(text, "Xilinx"), 0);
  }
  cl_uint count = 0;
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, nullptr, &count) != CL_SUCCESS ||
        count == 0);
  OCL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
  CHECK_EQ(count, 1u);
}

void check_device(cl_device_id device) {
  CHECK(device_text(device, CL_DEVICE_NAME).find("u55c") != std::string::npos);
  CHECK_EQ(device_text(device, CL_DEVICE_VENDOR) == "Xilinx", true);
  CHECK_EQ(device_info<cl_device_type>(device, CL_DEVICE_TYPE), CL_DEVICE_TYPE_ACCELERATOR);
  CHECK(device_info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE) >= cl_ulong{8} << 30);
  CHECK(device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE) >= cl_ulong{256} << 20);
  CHECK(device_info<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY) >= 100);
  CHECK_EQ(device_info<cl_uint>(device, CL_DEVICE_ADDRESS_BITS), 64u);
  CHECK_EQ(device_info<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN), 4096u * 8);
  CHECK_EQ(device_info<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE), CL_FALSE);
  CHECK(device_info<cl_platform_id>(device, CL_DEVICE_PLATFORM) == xilinx_platform());
  char byte = 0;
  CHECK_EQ(clGetDeviceInfo(device, 0x7fff, 1, &byte, nullptr), CL_INVALID_VALUE);
  CHECK_EQ(clGetDeviceInfo(device, CL_DEVICE_NAME, 1, &byte, nullptr), CL_INVALID_VALUE);
}

void check_loaded_device(cl_device_id device) {
  CHECK_EQ(device_info<cl_bool>(device, CL_DEVICE_AVAILABLE), CL_TRUE);
  CHECK_EQ(device_info<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS), 2u);
  CHECK(!device_text(device, CL_DEVICE_PCIE_BDF).empty());
  CHECK_EQ(device_info<cl_bool>(device, CL_DEVICE_NODMA), CL_FALSE);
  CHECK_EQ(device_info<cl_uint>(device, CL_DEVICE_KDMA_COUNT), 0u);
  CHECK(device_info<void*>(device, CL_DEVICE_HANDLE) != nullptr);
}

void check_contexts(cl_device_id device) {
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(xilinx_platform()), 0};
  Context first(clCreateContext(properties, 1, &device, nullptr, nullptr, &code));
  OCL(code);
  Context second(
      clCreateContextFromType(properties, CL_DEVICE_TYPE_ACCELERATOR, nullptr, nullptr, &code));
  OCL(code);
  cl_uint num_devices = 0;
  OCL(clGetContextInfo(second.get(), CL_CONTEXT_NUM_DEVICES, sizeof(num_devices), &num_devices,
                       nullptr));
  CHECK_EQ(num_devices, 1u);
  CHECK(clCreateContext(properties, 0, nullptr, nullptr, nullptr, &code) == nullptr);
  CHECK_EQ(code, CL_INVALID_VALUE);
}

void describe(const Arguments& arguments) {
  check_order();
  check_platform();
  cl_device_id device = xilinx_devices().at(0);
  check_device(device);
  check_contexts(device);
  LoadedCard card(arguments.xclbin);
  check_loaded_device(card.device);
  CHECK_EQ(clRetainDevice(card.device), CL_SUCCESS);
  CHECK_EQ(clReleaseDevice(card.device), CL_SUCCESS);
  const Kernel vadd = card.kernel("vadd");
  const Queue queue = card.queue();
  auto a = numbers(kSize, 1), b = numbers(kSize, 2);
  const Memory buffers[3] = {
      card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, a.data()),
      card.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, kSize * 4, b.data()),
      card.buffer(CL_MEM_WRITE_ONLY, kSize * 4)};
  set_arguments(vadd.get(), buffers[0], buffers[1], buffers[2], kSize);
  OCL(clEnqueueTask(queue.get(), vadd.get(), 0, nullptr, nullptr));
  std::vector<int> sums(kSize);
  OCL(clEnqueueReadBuffer(queue.get(), buffers[2].get(), CL_TRUE, 0, kSize * 4, sums.data(), 0,
                          nullptr, nullptr));
  check_sums(sums.data(), a, b);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, describe); }
