// SPDX-License-Identifier: Apache-2.0
//
// Exercises: one program after the other on the same device. A second one is refused while the
// first or one of its kernels is held. It is loaded once the first is released, also while the
// thread that ended its last command still holds it; then the first one again. Data goes through
// the host.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>
#include <chrono>
#include <thread>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 700;
constexpr size_t kBytes = kSize * 4;

using Bytes = std::vector<unsigned char>;

cl::Program load(const cl::Context& context, const cl::Device& device, const Bytes& bytes,
                 cl_int* code = nullptr) {
  return cl::Program(context, {device}, {{bytes.data(), bytes.size()}}, nullptr, code);
}

// At once: if each refusal were waited for, they would exceed the test's time limit.
void check_refused(const cl::Context& context, const cl::Device& device, const Bytes& bytes) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    cl_int code = CL_SUCCESS;
    load(context, device, bytes, &code);
    CHECK_EQ(code, CL_OUT_OF_RESOURCES);
  }
}

std::vector<int> add(const cl::Context& context, const cl::Device& device, const Bytes& bytes,
                     std::vector<int> a, std::vector<int> b, const Bytes& other) {
  cl_int code = CL_SUCCESS;
  const cl::Program program = load(context, device, bytes, &code);
  OCL(code);
  check_refused(context, device, other);
  cl::CommandQueue queue(context, device);
  cl::Kernel vadd(program, "vadd");
  cl::Buffer buffers[3];
  buffers[0] = cl::Buffer(context, CL_MEM_USE_HOST_PTR, kBytes, a.data());
  buffers[1] = cl::Buffer(context, CL_MEM_USE_HOST_PTR, kBytes, b.data());
  buffers[2] = cl::Buffer(context, CL_MEM_WRITE_ONLY, kBytes);
  for (cl_uint index = 0; index < 3; ++index) OCL(vadd.setArg(index, buffers[index]));
  OCL(vadd.setArg(3, kSize));
  OCL(queue.enqueueTask(vadd));
  std::vector<int> sums(kSize);
  OCL(queue.enqueueReadBuffer(buffers[2], CL_TRUE, 0, kBytes, sums.data()));
  OCL(queue.finish());
  return sums;
}

std::vector<int> multiply(const cl::Context& context, const cl::Device& device, const Bytes& bytes,
                          std::vector<int> values) {
  cl_int code = CL_SUCCESS;
  const cl::Program program = load(context, device, bytes, &code);
  OCL(code);
  cl::CommandQueue queue(context, device);
  cl::Kernel scale(program, "scale");
  cl::Buffer data(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kBytes, values.data());
  OCL(scale.setArg(0, data));
  OCL(scale.setArg(1, 3));
  OCL(scale.setArg(2, kSize));
  OCL(queue.enqueueTask(scale));
  OCL(queue.enqueueReadBuffer(data, CL_TRUE, 0, kBytes, values.data()));
  return values;
}

void CL_CALLBACK take_time(cl_event, cl_int, void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

// Holds the queue only: the event's thread has the program and the kernel until its callback ends.
void leave_running(const cl::Context& context, const cl::Device& device, const Bytes& bytes,
                   const Bytes& other, cl::CommandQueue& queue) {
  cl::Kernel scale(load(context, device, bytes), "scale");
  check_refused(context, device, other);
  cl::Buffer data(context, CL_MEM_READ_WRITE, kBytes);
  OCL(scale.setArg(0, data));
  OCL(scale.setArg(1, 3));
  OCL(scale.setArg(2, kSize));
  cl::UserEvent gate(context);
  const std::vector<cl::Event> before{gate};
  cl::Event event;
  OCL(queue.enqueueTask(scale, &before, &event));
  OCL(event.setCallback(CL_COMPLETE, take_time));
  OCL(gate.setStatus(CL_COMPLETE));
  while (event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE) {
    std::this_thread::yield();
  }
}

void swap(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  const cl::Context context(device);
  const Bytes adder = read_file(arguments.xclbin), scaler = read_file(arguments.rest.at(0));
  const auto a = numbers(kSize, 1), b = numbers(kSize, 2);
  for (int round = 0; round < 3; ++round) {
    const auto sums = add(context, device, adder, a, b, scaler);
    check_sums(sums.data(), a, b);
    const auto products = multiply(context, device, scaler, sums);
    for (unsigned int i = 0; i < kSize; ++i) CHECK_EQ(products[i], sums[i] * 3 + 1);
  }
  cl::CommandQueue queue(context, device);
  leave_running(context, device, scaler, adder, queue);
  const auto sums = add(context, device, adder, a, b, scaler);
  check_sums(sums.data(), a, b);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, swap); }
