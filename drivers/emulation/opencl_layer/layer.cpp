// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL layer (cl_layer.h; the ICD loader takes it from OPENCL_LAYERS) that corrects the
// behaviour of libxilinxopencl 2.13 for programs with mistakes:
//
//   clCreateProgramWithBinary  reads beyond a truncated binary or a missing list: checked first
//                              (for released programs see program_calls.cpp)
//   kernels that failed        look complete: events, waits and clFinish report the failure
//   clEnqueueFillBuffer        reads the pattern after the call: copied
//   clCreateBuffer             never returns if flags contradict each other: refused
// It also tells the shim what orders commands (order_calls.cpp) and makes clGetPlatformIDs list the
// cards' platform first: programs for cards take the first one. All other functions, and other
// platforms, pass through. Cost: one more call per function.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "emulation/opencl_layer/failures.h"
#include "emulation/opencl_layer/layer.h"

using tandem::emulation::ExitPoint;
using tandem::emulation::target;
using tandem::emulation::wait_at_exit;

namespace tandem::emulation {

cl_icd_dispatch target;

}  // namespace tandem::emulation

namespace {

constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
constexpr cl_int kKernelFailed = CL_OUT_OF_RESOURCES;

cl_icd_dispatch layer;  // this layer's functions; others are null

// A function of the shim. A program may ask about events (of another platform) before the shim is
// loaded, so a missing name is looked up again.
template <typename Function>
class ShimFunction {
 public:
  ShimFunction(Function*, const char* name) : name_(name) {}
  Function* get() {
    void* address = address_.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = dlsym(RTLD_DEFAULT, name_);
      address_.store(address, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(address);
  }

 private:
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

bool event_failed(cl_event event) {
  static ShimFunction function(&tandem_opencl_event_failed, "tandem_opencl_event_failed");
  const auto ask = function.get();
  return ask != nullptr && ask(event) != 0;
}

bool any_failed(cl_uint count, const cl_event* events) {
  return events != nullptr && std::any_of(events, events + count, event_failed);
}

bool queue_failed(cl_command_queue queue, bool forget) {
  static ShimFunction function(&tandem_opencl_queue_failed, "tandem_opencl_queue_failed");
  const auto ask = function.get();
  return ask != nullptr && ask(queue, forget ? 1 : 0) != 0;
}

cl_command_queue without_failures(cl_command_queue queue) {
  if (queue != nullptr) queue_failed(queue, true);
  return tandem::emulation::tell_made(queue);
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) {
  return without_failures(target.clCreateCommandQueue(context, device, properties, code));
}

cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
                                               const cl_queue_properties* properties,
                                               cl_int* code) {
  return without_failures(
      target.clCreateCommandQueueWithProperties(context, device, properties, code));
}

bool contradictory(cl_mem_flags flags) {
  const auto several = [flags](cl_mem_flags choices) {
    const cl_mem_flags chosen = flags & choices;
    return (chosen & (chosen - 1)) != 0;
  };
  return several(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY) ||
         several(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR) ||
         several(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) ||
         several(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS);
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* code) {
  if (!contradictory(flags)) return target.clCreateBuffer(context, flags, size, host, code);
  if (code != nullptr) *code = CL_INVALID_VALUE;
  return nullptr;
}

cl_int CL_API_CALL event_info(cl_event event, cl_event_info key, size_t size, void* value,
                              size_t* size_needed) {
  const cl_int code = target.clGetEventInfo(event, key, size, value, size_needed);
  if (code == CL_SUCCESS && key == CL_EVENT_COMMAND_EXECUTION_STATUS && value != nullptr) {
    auto& status = *static_cast<cl_int*>(value);
    if (status == CL_COMPLETE) wait_at_exit(ExitPoint::kEnded);
    if (status <= CL_COMPLETE) tandem::emulation::tell_waited(1, &event);
    if (status == CL_COMPLETE && event_failed(event)) status = kKernelFailed;
  }
  return code;
}

// With TANDEM_TIME=model a kernel ends its modelled time after its start; all other times are the
// host's.
cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info key, size_t size, void* value,
                                  size_t* size_needed) {
  const cl_int code = target.clGetEventProfilingInfo(event, key, size, value, size_needed);
  if (code != CL_SUCCESS || key != CL_PROFILING_COMMAND_END || value == nullptr) return code;
  static ShimFunction function(&tandem_opencl_modelled_ns, "tandem_opencl_modelled_ns");
  const auto ask = function.get();
  const cl_ulong nanoseconds = ask == nullptr ? 0 : ask(event);
  cl_ulong start = 0;
  if (nanoseconds == 0 ||
      target.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
                                     nullptr) != CL_SUCCESS) {
    return code;
  }
  *static_cast<cl_ulong*>(value) = start + nanoseconds;
  return code;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  const cl_int code = target.clWaitForEvents(count, events);
  wait_at_exit(ExitPoint::kEnded);
  if (code == CL_SUCCESS) tandem::emulation::tell_waited(count, events);
  if (code != CL_SUCCESS || !any_failed(count, events)) return code;
  return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

struct Callback {
  void(CL_CALLBACK* function)(cl_event, cl_int, void*);
  void* data;
};

void CL_CALLBACK call_back(cl_event event, cl_int status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  if (status <= CL_COMPLETE) tandem::emulation::tell_waited(1, &event);
  const bool failed = status == CL_COMPLETE && event_failed(event);
  callback->function(event, failed ? kKernelFailed : status, callback->data);
}

cl_int CL_API_CALL set_callback(cl_event event, cl_int type,
                                void(CL_CALLBACK* function)(cl_event, cl_int, void*), void* data) {
  if (function == nullptr) return target.clSetEventCallback(event, type, nullptr, data);
  auto callback = std::make_unique<Callback>(Callback{function, data});
  const cl_int code = target.clSetEventCallback(event, type, call_back, callback.get());
  if (code == CL_SUCCESS) callback.release();  // now owned by the call
  return code;
}

cl_int CL_API_CALL finish(cl_command_queue queue) {
  const cl_int code = target.clFinish(queue);
  wait_at_exit(ExitPoint::kEnded);
  if (code == CL_SUCCESS) tandem::emulation::tell_finished(queue);
  return code == CL_SUCCESS && queue_failed(queue, true) ? kKernelFailed : code;
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void* place, cl_uint count,
                               const cl_event* events, cl_event* event) {
  const cl_int code = target.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, place,
                                                 count, events, event);
  if (code != CL_SUCCESS || blocking == CL_FALSE) return code;
  wait_at_exit(ExitPoint::kEnded);
  if (any_failed(count, events)) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return queue_failed(queue, false) ? kKernelFailed : code;
}

void CL_CALLBACK drop_pattern(cl_event event, cl_int, void* pattern) {
  delete[] static_cast<char*>(pattern);
  target.clReleaseEvent(event);
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                               size_t pattern_size, size_t offset, size_t size, cl_uint count,
                               const cl_event* events, cl_event* event) {
  if (pattern == nullptr || pattern_size == 0) {
    return target.clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, count,
                                      events, event);
  }
  auto copy = std::make_unique<char[]>(pattern_size);
  std::memcpy(copy.get(), pattern, pattern_size);
  cl_event own = nullptr;
  const cl_int code = target.clEnqueueFillBuffer(queue, buffer, copy.get(), pattern_size, offset,
                                                 size, count, events, &own);
  if (code != CL_SUCCESS) return code;
  if (event != nullptr) {
    target.clRetainEvent(own);
    *event = own;
  }
  target.clSetEventCallback(own, CL_COMPLETE, drop_pattern, copy.release());
  return code;
}

bool is_cards(cl_platform_id platform) {
  char vendor[64] = {};
  return target.clGetPlatformInfo(platform, CL_PLATFORM_VENDOR, sizeof(vendor) - 1, vendor,
                                  nullptr) == CL_SUCCESS &&
         std::strcmp(vendor, "Xilinx") == 0;
}

cl_int CL_API_CALL platform_ids(cl_uint capacity, cl_platform_id* platforms, cl_uint* count) {
  if (platforms == nullptr || capacity == 0) {
    return target.clGetPlatformIDs(capacity, platforms, count);
  }
  cl_uint found = 0;
  if (const cl_int code = target.clGetPlatformIDs(0, nullptr, &found)) return code;
  std::vector<cl_platform_id> all(found);
  if (const cl_int code = target.clGetPlatformIDs(found, all.data(), &found)) return code;
  std::stable_partition(all.begin(), all.end(), is_cards);
  std::copy_n(all.begin(), std::min(capacity, found), platforms);
  if (count != nullptr) *count = found;
  return CL_SUCCESS;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info key,
                                                                         size_t size, void* value,
                                                                         size_t* size_needed) {
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  constexpr char kName[] = "Tandem";
  const void* answer = key == CL_LAYER_NAME ? static_cast<const void*>(kName) : &kVersion;
  const size_t bytes = key == CL_LAYER_NAME ? sizeof(kName) : sizeof(kVersion);
  if (key != CL_LAYER_NAME && key != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != nullptr) {
    if (size < bytes) return CL_INVALID_VALUE;
    std::memcpy(value, answer, bytes);
  }
  if (size_needed != nullptr) *size_needed = bytes;
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint num_entries, const cl_icd_dispatch* next, cl_uint* num_entries_used,
            const cl_icd_dispatch** functions) {
  if (next == nullptr || num_entries_used == nullptr || functions == nullptr) {
    return CL_INVALID_VALUE;
  }
  const cl_uint known = std::min(num_entries, kEntries);
  std::memcpy(static_cast<void*>(&target), next, known * sizeof(void*));
  layer.clGetPlatformIDs = platform_ids;
  tandem::emulation::take_program_calls(layer);
  tandem::emulation::take_argument_calls(layer);
  layer.clCreateCommandQueue = create_queue;
  layer.clCreateCommandQueueWithProperties = create_queue_with;
  layer.clCreateBuffer = create_buffer;
  layer.clGetEventInfo = event_info;
  layer.clGetEventProfilingInfo = profiling_info;
  layer.clWaitForEvents = wait_for_events;
  layer.clSetEventCallback = set_callback;
  layer.clFinish = finish;
  layer.clEnqueueReadBuffer = read_buffer;
  layer.clEnqueueFillBuffer = fill_buffer;
  tandem::emulation::take_order_calls(layer);
  *functions = &layer;
  *num_entries_used = known;
  return CL_SUCCESS;
}
}
