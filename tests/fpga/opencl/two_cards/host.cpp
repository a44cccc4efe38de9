// SPDX-License-Identifier: Apache-2.0
//
// Exercises: several devices in one context: one program on all of them, a queue each, work divided
// between them at the same time, one buffer that moves from card to card, copies between buffers of
// different cards.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/opencl.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 2048;
constexpr size_t kBytes = kSize * 4;

struct Cards {
  explicit Cards(const std::string& xclbin) : bytes(read_file(xclbin)) {
    for (cl_device_id id : xilinx_devices()) devices.emplace_back(id);
    context = cl::Context(devices);
    const cl::Program::Binaries binaries(devices.size(), {bytes.data(), bytes.size()});
    program = cl::Program(context, devices, binaries);
    for (const cl::Device& device : devices) queues.emplace_back(context, device);
  }

  std::vector<unsigned char> bytes;
  std::vector<cl::Device> devices;
  cl::Context context;
  cl::Program program;
  std::vector<cl::CommandQueue> queues;
};

struct Share {
  Share(Cards& cards, size_t card)
      : values(numbers(kSize, static_cast<int>(card))),
        results(kSize),
        data(cards.context, CL_MEM_READ_WRITE, kBytes),
        scale(cards.program, "scale") {
    OCL(scale.setArg(0, data));
    OCL(scale.setArg(1, static_cast<int>(card) + 5));
    OCL(scale.setArg(2, kSize));
  }
  std::vector<int> values, results;
  cl::Buffer data;
  cl::Kernel scale;
};

void divide(Cards& cards) {
  std::vector<Share> shares;
  for (size_t card = 0; card < cards.devices.size(); ++card) shares.emplace_back(cards, card);
  for (size_t card = 0; card < shares.size(); ++card) {
    Share& share = shares[card];
    OCL(cards.queues[card].enqueueWriteBuffer(share.data, CL_FALSE, 0, kBytes,
                                              share.values.data()));
    OCL(clEnqueueTask(cards.queues[card](), share.scale(), 0, nullptr, nullptr));
    OCL(cards.queues[card].enqueueReadBuffer(share.data, CL_FALSE, 0, kBytes,
                                             share.results.data()));
  }
  for (auto& queue : cards.queues) OCL(queue.finish());
  for (size_t card = 0; card < shares.size(); ++card) {
    for (unsigned int i = 0; i < kSize; ++i) {
      CHECK_EQ(shares[card].results[i], shares[card].values[i] * (static_cast<int>(card) + 5) + 1);
    }
  }
}

// The same memory goes through every card in turn.
void pass_on(Cards& cards) {
  std::vector<int> values = numbers(kSize, 3), expected = values;
  for (size_t card = 0; card < cards.devices.size(); ++card) {
    cl::Buffer data(cards.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, values.data());
    cl::Kernel scale(cards.program, "scale");
    OCL(scale.setArg(0, data));
    OCL(scale.setArg(1, -2));
    OCL(scale.setArg(2, kSize));
    OCL(cards.queues[card].enqueueMigrateMemObjects({data}, 0));
    OCL(clEnqueueTask(cards.queues[card](), scale(), 0, nullptr, nullptr));
    OCL(cards.queues[card].enqueueMigrateMemObjects({data}, CL_MIGRATE_MEM_OBJECT_HOST));
    OCL(cards.queues[card].finish());
    for (int& value : expected) value = value * -2 + 1;
  }
  CHECK(values == expected);
}

void share(const Arguments& arguments) {
  Cards cards(arguments.xclbin);
  CHECK_EQ(cards.devices.size(), 3u);
  for (int round = 0; round < 5; ++round) divide(cards);
  pass_on(cards);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, share); }
