// SPDX-License-Identifier: Apache-2.0
//
// The layer's calls about programs and kernels. Binaries are checked before libxilinxopencl reads
// them. A program that the application has released, but the library still holds, is waited for.
//
// Threads: any. Cost: a lock per call that makes, retains or releases a program or kernel.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"
#include "emulation/opencl_layer/failures.h"
#include "emulation/opencl_layer/held_programs.h"
#include "emulation/opencl_layer/layer.h"
#include "emulation/opencl_layer/thread_states.h"

namespace tandem::emulation {
namespace {

constexpr auto kReleaseLimit = std::chrono::seconds(5);
constexpr auto kReleasePoll = std::chrono::milliseconds(1);
// At the end of the process, in polls: a process that gets little of the processor waits longer,
// as its other threads need longer too.
constexpr int kUnloadPolls = 5000, kClosePolls = 500;
constexpr SleepWait kSleepWait{
    .confirmations = 3, .max_used = std::chrono::milliseconds(250), .max_polls = 5000};

HeldPrograms& held_programs() {
  static auto* held = new HeldPrograms;  // may be called while the process ends
  return *held;
}

bool is_xilinx(cl_device_id device) {
  char vendor[64] = {};
  return target.clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof(vendor) - 1, vendor, nullptr) ==
             CL_SUCCESS &&
         std::strcmp(vendor, "Xilinx") == 0;
}

// The card of a device, which may be a part of it.
cl_device_id card_of(cl_device_id device) {
  cl_device_id parent = nullptr;
  while (target.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
                                nullptr) == CL_SUCCESS &&
         parent != nullptr) {
    device = parent;
  }
  return device;
}

bool has_program(cl_device_id card) {
  cl_uint units = 0;
  return target.clGetDeviceInfo(card, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units,
                                nullptr) == CL_SUCCESS &&
         units != 0;
}

// The error in a binary for an emulated card; empty if there is none.
std::string check_binary(const unsigned char* bytes, size_t size) {
  try {
    tandem::xclbin::XclbinFile::parse(std::span(reinterpret_cast<const std::byte*>(bytes), size),
                                      "OpenCL program");
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct Load {
  cl_context context;
  cl_uint num_devices;
  const cl_device_id* devices;
  const size_t* sizes;
  const unsigned char** binaries;
  cl_int* status;
};

// CL_SUCCESS, or the error code for the first bad binary.
cl_int check_binaries(const Load& load) {
  for (cl_uint index = 0; index < load.num_devices; ++index) {
    const cl_device_id device = load.devices[index];
    if (device == nullptr || load.binaries[index] == nullptr || load.sizes[index] == 0) break;
    if (!is_xilinx(device)) continue;
    const std::string problem = check_binary(load.binaries[index], load.sizes[index]);
    if (problem.empty()) continue;
    std::fprintf(stderr, "[TANDEM] ERROR: %s\n", problem.c_str());
    if (load.status != nullptr) {
      std::fill(load.status, load.status + load.num_devices, CL_SUCCESS);
      load.status[index] = CL_INVALID_BINARY;
    }
    return CL_INVALID_BINARY;
  }
  return CL_SUCCESS;
}

std::atomic<pid_t> loading_process = 0;

bool wait_until_others_sleep() {
  const SleepCalls calls{[] { return others_asleep("/proc/self/task", gettid()); }, used_by_others,
                         [] { std::this_thread::sleep_for(kReleasePoll); }};
  return wait_until_asleep(kSleepWait, calls);
}

// Whether this process has a context on a card; false without the shim.
bool contexts_are_open() {
  static const auto contexts_open = reinterpret_cast<decltype(&tandem_opencl_contexts_open)>(
      dlsym(RTLD_DEFAULT, "tandem_opencl_contexts_open"));
  return contexts_open != nullptr && contexts_open() != 0;
}

// The application may end while a thread of libxilinxopencl still unloads its last program, or
// destroys its last context. At the process' end that library destroys its devices first and waits
// for its threads after, so such a thread would use a destroyed device. A device stays open also
// when the application never releases its context, so the wait for that is short. At last the
// threads must sleep: one of them may still free what the last command held. It is called for every
// ExitPoint: objects of the application that are destroyed between two of them may release more.
void wait_for_unloading() {
  static const auto devices_open = reinterpret_cast<decltype(&tandem_opencl_devices_open)>(
      dlsym(RTLD_DEFAULT, "tandem_opencl_devices_open"));
  static bool is_over = false;
  if (is_over || devices_open == nullptr) return;
  if (getpid() != loading_process) return;
  const bool all_released = held_programs().empty();
  for (int polls = 0; all_released; ++polls) {
    const bool unloading = contexts_are_open() && polls < kUnloadPolls;
    const bool closing = devices_open() != 0 && polls < kClosePolls;
    if (!unloading && !closing) break;
    std::this_thread::sleep_for(kReleasePoll);
  }
  is_over = !wait_until_others_sleep() || all_released;
}

// A card has compute units while a program is loaded. A program that the application has released
// may be held a moment longer by the thread that ended its last command; that thread clears the
// units before the program, and closes the contexts last. The library refuses with one code while
// it knows the program itself, and with the other while the card knows a context. So a refusal
// counts only when the application itself holds a program on the card, when no context was open
// before the attempt, or when the time is up.
cl_program load_when_released(const Load& load, cl_int& code) {
  std::vector<cl_device_id> cards(load.num_devices);
  std::transform(load.devices, load.devices + load.num_devices, cards.begin(), card_of);
  const auto deadline = std::chrono::steady_clock::now() + kReleaseLimit;
  const auto is_held = [](cl_device_id card) { return held_programs().any_on(card); };
  bool is_closing = true;  // not asked before the first attempt: most succeed
  for (;;) {
    const bool last = std::any_of(cards.begin(), cards.end(), is_held) ||
                      std::chrono::steady_clock::now() >= deadline;
    if (last || std::none_of(cards.begin(), cards.end(), has_program)) {
      cl_program program =
          target.clCreateProgramWithBinary(load.context, load.num_devices, load.devices, load.sizes,
                                           load.binaries, load.status, &code);
      if (program != nullptr) {
        held_programs().add(program, cards);
        loading_process = getpid();
        wait_at_exit(ExitPoint::kLoaded);
      }
      const bool may_pass =
          code == CL_OUT_OF_RESOURCES || (code == CL_OUT_OF_HOST_MEMORY && is_closing);
      if (last || !may_pass) return program;
      is_closing = contexts_are_open();
    }
    std::this_thread::sleep_for(kReleasePoll);
  }
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint num_devices,
                                      const cl_device_id* devices, const size_t* sizes,
                                      const unsigned char** binaries, cl_int* status,
                                      cl_int* code) {
  cl_int result = CL_INVALID_VALUE;
  cl_program program = nullptr;
  if (num_devices != 0 && devices != nullptr && sizes != nullptr && binaries != nullptr) {
    const Load load{context, num_devices, devices, sizes, binaries, status};
    const bool for_cards = std::all_of(devices, devices + num_devices, is_xilinx);
    result = check_binaries(load);
    if (result == CL_SUCCESS && for_cards) {
      program = load_when_released(load, result);
    } else if (result == CL_SUCCESS) {
      program = target.clCreateProgramWithBinary(context, num_devices, devices, sizes, binaries,
                                                 status, &result);
    }
  }
  if (code != nullptr) *code = result;
  return program;
}

// clRetainProgram, clRetainKernel: the library refuses invalid handles.
template <typename Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*library)(Handle)>
cl_int CL_API_CALL retain(Handle handle) {
  const cl_int code = (target.*library)(handle);
  if (code == CL_SUCCESS) held_programs().retain(handle);
  return code;
}

// clReleaseProgram, clReleaseKernel.
template <typename Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*library)(Handle)>
cl_int CL_API_CALL release(Handle handle) {
  const bool was_held = !held_programs().empty();
  held_programs().release(handle);
  if (was_held && held_programs().empty()) wait_at_exit(ExitPoint::kReleased);
  return (target.*library)(handle);
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  cl_kernel kernel = target.clCreateKernel(program, name, code);
  if (kernel != nullptr) held_programs().add(kernel, program);
  return kernel;
}

cl_int CL_API_CALL create_kernels(cl_program program, cl_uint capacity, cl_kernel* kernels,
                                  cl_uint* count) {
  cl_uint made = 0;
  const cl_int code = target.clCreateKernelsInProgram(program, capacity, kernels, &made);
  if (code != CL_SUCCESS) return code;
  for (cl_uint index = 0; kernels != nullptr && index < made; ++index) {
    held_programs().add(kernels[index], program);
  }
  if (count != nullptr) *count = made;
  return code;
}

}  // namespace

// At the process' end the libraries' objects are destroyed, the last made first. Some that their
// threads use are made when the first command runs, after the program was loaded. A wait that is
// registered after that comes before they go.
void wait_at_exit(ExitPoint point) {
  static std::array<std::atomic<bool>, 3> registered{};
  if (loading_process == 0 || registered[static_cast<size_t>(point)].exchange(true)) return;
  static_cast<void>(std::atexit(wait_for_unloading));
}

void take_program_calls(cl_icd_dispatch& layer) {
  layer.clCreateProgramWithBinary = create_program;
  layer.clRetainProgram = retain<cl_program, &cl_icd_dispatch::clRetainProgram>;
  layer.clReleaseProgram = release<cl_program, &cl_icd_dispatch::clReleaseProgram>;
  layer.clCreateKernel = create_kernel;
  layer.clCreateKernelsInProgram = create_kernels;
  layer.clRetainKernel = retain<cl_kernel, &cl_icd_dispatch::clRetainKernel>;
  layer.clReleaseKernel = release<cl_kernel, &cl_icd_dispatch::clReleaseKernel>;
}

}  // namespace tandem::emulation
