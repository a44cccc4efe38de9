// SPDX-License-Identifier: Apache-2.0
//
// Device discovery, queues, program builds and event polling on the OpenCL 1.2 host API.
//
// A poll is one clGetEventInfo. Between polls the thread yields for the first 40 us, then sleeps 20
// us up to 500 us. A device that computes on the host's cores can therefore use them.
#include "opencl/session.h"

#include <algorithm>
#include <thread>

#include "common/error.h"

namespace tandem::opencl {
namespace {

using std::chrono::microseconds;

bool usable(const cl::Device& device) {
  const std::string version = device.getInfo<CL_DEVICE_VERSION>();  // "OpenCL <major>.<minor> ..."
  const bool has_1_2 = version.size() >= 10 && version.substr(7, 3) >= "1.2";
  return has_1_2 && device.getInfo<CL_DEVICE_AVAILABLE>() &&
         device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() &&
         device.getInfo<CL_DEVICE_ENDIAN_LITTLE>();
}

void add_devices_of(const cl::Platform& platform, std::vector<cl::Device>* found) {
  try {
    // Asking this platform for devices opens FPGA cards, which the xrt backend may be using.
    if (platform.getInfo<CL_PLATFORM_VENDOR>().find("Xilinx") != std::string::npos) return;
    std::vector<cl::Device> devices;
    platform.getDevices(CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU, &devices);
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(*found), usable);
  } catch (const cl::Error&) {
    // A platform without devices of these types, or a broken driver: nothing to use there.
  }
}

}  // namespace

std::vector<cl::Device> usable_devices() {
  std::vector<cl::Device> found;
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {
    return found;  // the loader reports an error where no driver is installed
  }
  for (const cl::Platform& platform : platforms) add_devices_of(platform, &found);
  return found;
}

Session open_session(const cl::Device& device) {
  try {
    Session session;
    session.device = device;
    session.context = cl::Context(device);
    session.queue = cl::CommandQueue(session.context, device);
    session.mapping = cl::CommandQueue(session.context, device);
    return session;
  } catch (const cl::Error& error) {
    throw DeviceError("opencl", "cannot open the device: " + error_text(error));
  }
}

bool shares_host_memory(const cl::Device& device) {
  // The query is deprecated after 1.2 but remains the one question every driver answers.
  return device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() ||
         device.getInfo<CL_DEVICE_TYPE>() == CL_DEVICE_TYPE_CPU;
}

device::DeviceInfo describe(const cl::Device& device, int index) {
  device::DeviceInfo info;
  info.id = "opencl:" + std::to_string(index);
  info.kind = "opencl";
  info.name = device.getInfo<CL_DEVICE_NAME>();
  info.memory_bytes = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  info.makes_attention = true;
  return info;
}

cl::Program build_program(const Session& session, const char* source, const std::string& options) {
  cl::Program program(session.context, std::string(source));
  try {
    program.build({session.device}, ("-cl-std=CL1.2 " + options).c_str());
  } catch (const cl::BuildError& error) {
    std::string log;
    for (const auto& [device, text] : error.getBuildLog()) log += text;
    throw DeviceError("opencl", "the device's compiler refused the kernels:\n" + log);
  } catch (const cl::Error& error) {
    throw DeviceError("opencl", "building the kernels: " + error_text(error));
  }
  return program;
}

device::WaitResult wait_for_event(const cl::Event& event, Deadline deadline) {
  const auto start = Deadline::Clock::now();
  microseconds pause(20);
  for (;;) {
    cl_int status = CL_QUEUED;
    try {
      status = event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
    } catch (const cl::Error&) {
      return device::WaitResult::kLost;
    }
    if (status < 0) return device::WaitResult::kLost;
    if (status == CL_COMPLETE) return device::WaitResult::kDone;
    if (deadline.expired()) return device::WaitResult::kTimeout;
    if (Deadline::Clock::now() - start < microseconds(40)) {
      std::this_thread::yield();
      continue;
    }
    const auto left = std::chrono::duration_cast<microseconds>(deadline.remaining());
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(pause * 2, microseconds(500));
  }
}

device::WaitResult wait_for_events(std::span<const cl::Event> events, Deadline deadline) {
  // Last first: the queue is in order, so the others have ended by then. A failure is
  // reported when all have ended, because until then they use their memory.
  device::WaitResult result = device::WaitResult::kDone;
  for (std::size_t i = events.size(); i-- > 0;) {
    if (events[i]() == nullptr) continue;
    const device::WaitResult one = wait_for_event(events[i], deadline);
    if (one == device::WaitResult::kTimeout) return one;
    if (one == device::WaitResult::kLost) result = one;
  }
  return result;
}

std::string error_text(const cl::Error& error) {
  return std::string(error.what()) + " failed (" + std::to_string(error.err()) + ")";
}

}  // namespace tandem::opencl
