// SPDX-License-Identifier: Apache-2.0
//
// Exercises: an out-of-order queue with several compute units: chains of commands that event wait
// lists order, thousands of commands in flight, independent chains that must not disturb each
// other.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 64;
constexpr int kChains = 8;
constexpr int kAtOnce = 1000;
constexpr int kLinks = 301;  // data = data * -1 + 1: an odd number of them gives 1 - data

struct Chain {
  Chain(const cl::Context& context, const cl::Program& program, int seed)
      : values(numbers(kSize, seed)),
        results(kSize),
        data(context, CL_MEM_READ_WRITE, kSize * 4),
        scale(program, "scale") {
    OCL(scale.setArg(0, data));
    OCL(scale.setArg(1, -1));
    OCL(scale.setArg(2, kSize));
  }

  void enqueue(const cl::CommandQueue& queue) {
    cl::Event last;
    OCL(queue.enqueueWriteBuffer(data, CL_FALSE, 0, kSize * 4, values.data(), nullptr, &last));
    for (int link = 0; link < kLinks; ++link) {
      const std::vector<cl::Event> before{last};
      OCL(queue.enqueueTask(scale, &before, &last));
    }
    const std::vector<cl::Event> before{last};
    OCL(queue.enqueueReadBuffer(data, CL_FALSE, 0, kSize * 4, results.data(), &before, &read));
  }

  std::vector<int> values, results;
  cl::Buffer data;
  cl::Kernel scale;
  cl::Event read;
};

void order(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  cl::Program program(context, {device}, {{bytes.data(), bytes.size()}});
  cl::CommandQueue queue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  std::vector<Chain> chains;
  for (int index = 0; index < kChains; ++index) chains.emplace_back(context, program, index);
  for (Chain& chain : chains) chain.enqueue(queue);
  for (Chain& chain : chains) {
    OCL(chain.read.wait());
    CHECK_EQ(chain.read.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
    for (unsigned int i = 0; i < kSize; ++i) CHECK_EQ(chain.results[i], 1 - chain.values[i]);
  }
  OCL(queue.finish());
  // Without dependencies: more in flight at once than a card's queues hold.
  for (int round = 0; round < kAtOnce; ++round) {
    for (Chain& chain : chains) OCL(queue.enqueueTask(chain.scale));
  }
  OCL(queue.finish());
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, order); }
