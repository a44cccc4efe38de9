// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL layer between a program and this test's own functions, and its count of the programs
// that an application holds. The shim is a library of this test (failing_shim.cpp).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "emulation/opencl_layer/held_programs.h"
#include "emulation/opencl_layer/layer.h"

namespace {

using tandem::emulation::HeldPrograms;

// Handles are never looked into.
template <typename Handle>
Handle handle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

const auto kQueue = handle<cl_command_queue>(0x10);
const auto kEvent = handle<cl_event>(0x20);
const auto kCard = handle<cl_device_id>(0x30), kOtherCard = handle<cl_device_id>(0x40);
const auto kProgram = handle<cl_program>(0x50);
const auto kKernel = handle<cl_kernel>(0x60);

cl_int CL_API_CALL complete(cl_event, cl_event_info, size_t, void* value, size_t*) {
  *static_cast<cl_int*>(value) = CL_COMPLETE;
  return CL_SUCCESS;
}

cl_command_queue CL_API_CALL same_queue(cl_context, cl_device_id, cl_command_queue_properties,
                                        cl_int*) {
  return kQueue;
}

cl_command_queue CL_API_CALL same_queue_with(cl_context, cl_device_id, const cl_queue_properties*,
                                             cl_int*) {
  return kQueue;
}

cl_int CL_API_CALL finished(cl_command_queue) { return CL_SUCCESS; }

cl_int CL_API_CALL device_info(cl_device_id, cl_device_info key, size_t size, void* value,
                               size_t*) {
  std::memset(value, 0, size);
  if (key == CL_DEVICE_VENDOR) std::memcpy(value, "Xilinx", sizeof("Xilinx"));
  return CL_SUCCESS;
}

// The codes with which the next attempts to load a program fail; then they succeed.
std::deque<cl_int> refusals;

cl_program CL_API_CALL same_program(cl_context, cl_uint, const cl_device_id*, const size_t*,
                                    const unsigned char**, cl_int*, cl_int* code) {
  *code = CL_SUCCESS;
  if (refusals.empty()) return kProgram;
  *code = refusals.front();
  refusals.pop_front();
  return nullptr;
}

template <typename... Arguments>
cl_int CL_API_CALL do_nothing(Arguments...) {
  return CL_SUCCESS;
}

// The layer's functions, in front of those above.
const cl_icd_dispatch& layer() {
  static cl_icd_dispatch next;
  next.clGetEventInfo = complete;
  next.clCreateCommandQueue = same_queue;
  next.clCreateCommandQueueWithProperties = same_queue_with;
  next.clFinish = finished;
  next.clGetDeviceInfo = device_info;
  next.clCreateProgramWithBinary = same_program;
  next.clReleaseProgram = do_nothing;
  next.clWaitForEvents = do_nothing;
  next.clEnqueueReadBuffer = do_nothing;
  void* library = dlopen(TANDEM_OPENCL_LAYER, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto start = reinterpret_cast<pfn_clInitLayer>(dlsym(library, "clInitLayer"));
  cl_uint used = 0;
  const cl_icd_dispatch* functions = nullptr;
  if (start(sizeof(next) / sizeof(void*), &next, &used, &functions) != CL_SUCCESS) {
    throw std::runtime_error("the layer does not start");
  }
  return *functions;
}

cl_int status_of(const cl_icd_dispatch& functions, cl_event event) {
  cl_int status = CL_QUEUED;
  functions.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                           nullptr);
  return status;
}

TEST(OpenClLayer, TellsOfFailuresOnceTheShimIsThereAlsoWhenItWasAskedBefore) {
  const cl_icd_dispatch& functions = layer();
  EXPECT_EQ(status_of(functions, kEvent), CL_COMPLETE);
  EXPECT_EQ(functions.clFinish(kQueue), CL_SUCCESS);

  void* shim = dlopen(TANDEM_FAILING_SHIM, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(shim, nullptr) << dlerror();
  EXPECT_LT(status_of(functions, kEvent), 0);
  EXPECT_EQ(functions.clFinish(kQueue), CL_OUT_OF_RESOURCES);
}

// The result of loading a program through the layer, beside the shim.
cl_int load_program(const cl_icd_dispatch& functions) {
  if (dlopen(TANDEM_FAILING_SHIM, RTLD_NOW | RTLD_GLOBAL) == nullptr) std::exit(2);
  std::ifstream file(TANDEM_TEST_XCLBIN, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t size = bytes.size();
  const auto* binary = reinterpret_cast<const unsigned char*>(bytes.data());
  cl_int code = CL_INVALID_VALUE;
  const cl_program program =
      functions.clCreateProgramWithBinary(nullptr, 1, &kCard, &size, &binary, nullptr, &code);
  if ((program == kProgram) != (code == CL_SUCCESS)) std::exit(3);
  return code;
}

// Loads a program through the layer, releases it unless `held`, calls `before_end`, and ends.
[[noreturn]] void load_and_end(
    bool held, const std::function<void()>& before_end = [] {}) {
  const cl_icd_dispatch& functions = layer();
  if (load_program(functions) != CL_SUCCESS) std::exit(3);
  if (!held) functions.clReleaseProgram(kProgram);
  before_end();
  std::exit(0);
}

// A thread like the library's that ends a command: it works a little, then sleeps for ever.
void start_worker() {
  static std::atomic<bool> started = false;
  std::thread([] {
    started = true;
    timespec used{};
    while (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 && used.tv_nsec < 5'000'000) {
    }
    std::fputs("command is freed\n", stderr);
    for (;;) pause();
  }).detach();
  while (!started) std::this_thread::yield();
}

// What a program calls after its first command, or when it is done.
using LayerCall = void (*)(const cl_icd_dispatch& functions);
const LayerCall kLaterCalls[] = {
    [](const cl_icd_dispatch& functions) { functions.clFinish(kQueue); },
    [](const cl_icd_dispatch& functions) { functions.clWaitForEvents(1, &kEvent); },
    [](const cl_icd_dispatch& functions) { status_of(functions, kEvent); },
    [](const cl_icd_dispatch& functions) {
      functions.clEnqueueReadBuffer(kQueue, nullptr, CL_TRUE, 0, 0, nullptr, 0, nullptr, nullptr);
    },
    [](const cl_icd_dispatch& functions) { functions.clReleaseProgram(kProgram); },
};

// The library makes an object after it has loaded the program. It is destroyed after the wait, if
// `later` makes the layer register the wait again.
[[noreturn]] void work_while_ending(LayerCall later) {
  load_and_end(true, [later] {
    std::atexit([] { std::fputs("devices are destroyed\n", stderr); });
    later(layer());
    start_worker();
  });
}

TEST(OpenClLayer, TheEndOfAProcessWaitsUntilItsLastProgramIsUnloaded) {
  EXPECT_EXIT(load_and_end(false), testing::ExitedWithCode(0),
              "is loaded\nprogram is loaded\nprogram is unloaded\n$");
}

TEST(OpenClLayer, TheEndOfAProcessDoesNotWaitForAProgramThatItHolds) {
  EXPECT_EXIT(load_and_end(true), testing::ExitedWithCode(0), "^$");
}

TEST(OpenClLayer, TheEndOfAProcessWaitsUntilItsOtherThreadsSleep) {
  for (const LayerCall& later : kLaterCalls) {
    // The shim speaks whenever the layer asks whether a program is loaded.
    EXPECT_EXIT(work_while_ending(later), testing::ExitedWithCode(0),
                "command is freed\n(program is (un)?loaded\n)*devices are destroyed\n")
        << "call " << &later - kLaterCalls;
  }
}

TEST(OpenClLayer, TheEndOfAProcessWaitsOncePerProgramThatIsReleased) {
  const auto finish_and_release = [] {
    layer().clFinish(kQueue);
    layer().clReleaseProgram(kProgram);
  };
  EXPECT_EXIT(load_and_end(true, finish_and_release), testing::ExitedWithCode(0),
              "^program is loaded\nprogram is loaded\nprogram is unloaded\n$");
}

TEST(OpenClLayer, AThreadThatNeverSleepsDoesNotKeepAProcessFromEnding) {
  const auto start_spinning = [] {
    std::thread([] {
      for (volatile bool on = true; on;) {
      }
    }).detach();
  };
  EXPECT_EXIT(load_and_end(true, start_spinning), testing::ExitedWithCode(0), "^$");
}

// Loads a program after `codes` and exits at once with the number of refusals that are left.
[[noreturn]] void load_after(const std::deque<cl_int>& codes, cl_int expected) {
  refusals = codes;
  std::_Exit(load_program(layer()) == expected ? static_cast<int>(refusals.size()) : 100);
}

TEST(OpenClLayer, ALoadWaitsWhileTheContextsOfAReleasedProgramAreClosed) {
  // The shim has a context open when it is asked for the first two times.
  EXPECT_EXIT(load_after({CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY}, CL_SUCCESS),
              testing::ExitedWithCode(0), "^program is loaded\nprogram is loaded\n$");
  EXPECT_EXIT(load_after({CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES}, CL_SUCCESS),
              testing::ExitedWithCode(0), "");
}

TEST(OpenClLayer, ALoadIsRefusedOnceNoContextIsOpen) {
  const std::deque<cl_int> many(9, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EXIT(load_after(many, CL_OUT_OF_HOST_MEMORY), testing::ExitedWithCode(5), "is unloaded");
  EXPECT_EXIT(load_after({CL_INVALID_CONTEXT, CL_SUCCESS}, CL_INVALID_CONTEXT),
              testing::ExitedWithCode(1), "^$");
}

TEST(OpenClLayer, AQueueStartsWithoutTheFailuresOfAnEarlierOneAtItsAddress) {
  void* shim = dlopen(TANDEM_FAILING_SHIM, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(shim, nullptr) << dlerror();
  const auto fail = reinterpret_cast<void (*)()>(dlsym(shim, "fail_all_queues"));
  const cl_icd_dispatch& functions = layer();
  fail();
  EXPECT_EQ(functions.clCreateCommandQueue(nullptr, kCard, 0, nullptr), kQueue);
  EXPECT_EQ(functions.clFinish(kQueue), CL_SUCCESS);
  fail();
  EXPECT_EQ(functions.clCreateCommandQueueWithProperties(nullptr, kCard, nullptr, nullptr), kQueue);
  EXPECT_EQ(functions.clFinish(kQueue), CL_SUCCESS);
  fail();
  EXPECT_EQ(functions.clFinish(kQueue), CL_OUT_OF_RESOURCES);
}

TEST(HeldPrograms, AProgramIsHeldOnItsCardsUntilItsLastReferenceIsReleased) {
  HeldPrograms held;
  EXPECT_FALSE(held.any_on(kCard));
  held.add(kProgram, {kCard});
  held.retain(kProgram);
  EXPECT_TRUE(held.any_on(kCard));
  EXPECT_FALSE(held.any_on(kOtherCard));
  held.release(kProgram);
  EXPECT_TRUE(held.any_on(kCard));
  held.release(kProgram);
  EXPECT_FALSE(held.any_on(kCard));
}

TEST(HeldPrograms, OneProgramReturnedTwiceIsReleasedTwice) {
  HeldPrograms held;
  held.add(kProgram, {kCard, kOtherCard});
  held.add(kProgram, {kCard, kOtherCard});
  held.release(kProgram);
  EXPECT_TRUE(held.any_on(kOtherCard));
  held.release(kProgram);
  EXPECT_FALSE(held.any_on(kOtherCard));
}

TEST(HeldPrograms, AKernelHoldsItsProgram) {
  HeldPrograms held;
  held.add(kProgram, {kCard});
  held.add(kKernel, kProgram);
  held.retain(kKernel);
  held.release(kProgram);
  held.release(kKernel);
  EXPECT_TRUE(held.any_on(kCard));
  held.release(kKernel);
  EXPECT_FALSE(held.any_on(kCard));
}

TEST(HeldPrograms, WhatItWasNotToldOfIsIgnored) {
  HeldPrograms held;
  held.retain(kProgram);
  held.release(kProgram);
  held.add(kKernel, kProgram);
  held.retain(kKernel);
  held.release(kKernel);
  EXPECT_FALSE(held.any_on(kCard));
}

TEST(HeldPrograms, AKernelThatIsMadeTwiceHoldsItsProgramOnce) {
  HeldPrograms held;
  held.add(kProgram, {kCard});
  held.add(kKernel, kProgram);
  held.add(kKernel, kProgram);
  held.release(kProgram);
  held.release(kKernel);
  EXPECT_TRUE(held.any_on(kCard));
  held.release(kKernel);
  EXPECT_FALSE(held.any_on(kCard));
}

}  // namespace
