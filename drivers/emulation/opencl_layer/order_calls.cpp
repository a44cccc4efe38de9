// SPDX-License-Identifier: Apache-2.0
//
// The layer's calls that enqueue commands or wait for them. They tell the shim what orders the
// commands, for the race check; without checks they only pass on.
#include <dlfcn.h>

#include <tuple>
#include <utility>

#include "emulation/opencl_layer/failures.h"
#include "emulation/opencl_layer/layer.h"

namespace tandem::emulation {
namespace {

constexpr int kNeverBlocks = -1;
constexpr unsigned kSeveralGroups = 2;

struct OrderCalls {
  decltype(&tandem_opencl_orders) orders;
  decltype(&tandem_opencl_enqueues) enqueues;
  decltype(&tandem_opencl_enqueued) enqueued;
  decltype(&tandem_opencl_queue_made) queue_made;
  decltype(&tandem_opencl_event_made) event_made;
  decltype(&tandem_opencl_waited) waited;
  decltype(&tandem_opencl_finished) finished;
};

template <typename Function>
void find_call(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// Null if no card has checks. The shim is loaded before a queue is made.
const OrderCalls* order_calls() {
  static const OrderCalls calls = [] {
    OrderCalls found{};
    find_call(found.orders, "tandem_opencl_orders");
    find_call(found.enqueues, "tandem_opencl_enqueues");
    find_call(found.enqueued, "tandem_opencl_enqueued");
    find_call(found.queue_made, "tandem_opencl_queue_made");
    find_call(found.event_made, "tandem_opencl_event_made");
    find_call(found.waited, "tandem_opencl_waited");
    find_call(found.finished, "tandem_opencl_finished");
    return found;
  }();
  return calls.orders != nullptr && calls.orders() != 0 ? &calls : nullptr;
}

bool has_order(cl_command_queue queue) {
  cl_command_queue_properties properties = 0;
  target.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                               nullptr);
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
}

// Runs `call`, which enqueues a command and gives its event and whether it is over.
template <typename Call>
void tell_of(cl_command_queue queue, OpenClCommand command, const Call& call) {
  const OrderCalls* const calls = queue == nullptr ? nullptr : order_calls();
  if (calls == nullptr) {
    call();
    return;
  }
  command.queue_has_order = has_order(queue) ? 1 : 0;
  if (command.events == nullptr) command.num_events = 0;
  calls->enqueues(queue, &command);
  const std::pair<cl_event, bool> made = call();
  calls->enqueued(made.first, made.second ? 1 : 0);
}

cl_event event_of(cl_int code, const cl_event* event) {
  return code == CL_SUCCESS && event != nullptr ? *event : nullptr;
}

// A call of the dispatch table whose last parameters are the events that it waits for and its own.
// `kBlocking`: which parameter after the queue says that the call waits for the command.
// `kBarrier`: as in OpenClCommand.
template <auto kMember, int kBlocking, int kBarrier, typename Function>
class Enqueue;
template <auto kMember, int kBlocking, int kBarrier, typename... Arguments>
class Enqueue<kMember, kBlocking, kBarrier, cl_int(CL_API_CALL*)(cl_command_queue, Arguments...)> {
 public:
  static void take(cl_icd_dispatch& layer) {
    inner_ = layer.*kMember != nullptr ? layer.*kMember : target.*kMember;
    if (inner_ != nullptr) layer.*kMember = call;
  }

 private:
  static cl_int CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    const std::tuple<Arguments...> all(arguments...);
    constexpr size_t kEvent = sizeof...(Arguments) - 1;
    bool blocks = false;
    if constexpr (kBlocking != kNeverBlocks) blocks = std::get<kBlocking>(all) != CL_FALSE;
    cl_int code = CL_SUCCESS;
    tell_of(queue, {0, 0, kBarrier, std::get<kEvent - 2>(all), std::get<kEvent - 1>(all)}, [&] {
      code = inner_(queue, arguments...);
      return std::pair(event_of(code, std::get<kEvent>(all)), blocks && code == CL_SUCCESS);
    });
    return code;
  }
  static inline cl_int(CL_API_CALL* inner_)(cl_command_queue, Arguments...) = nullptr;
};

template <auto kMember, int kBlocking = kNeverBlocks, int kBarrier = 0>
void take(cl_icd_dispatch& layer) {
  using Function = std::remove_reference_t<decltype(std::declval<cl_icd_dispatch&>().*kMember)>;
  Enqueue<kMember, kBlocking, kBarrier, Function>::take(layer);
}

cl_icd_dispatch inner;  // the functions that the following ones call

cl_int CL_API_CALL order_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                              const cl_event* events, cl_event* event) {
  cl_int code = CL_SUCCESS;
  tell_of(queue, {0, 1, 0, count, events}, [&] {
    code = inner.clEnqueueTask(queue, kernel, count, events, event);
    return std::pair(event_of(code, event), false);
  });
  return code;
}

unsigned groups_of(cl_uint dimensions, const size_t* size, const size_t* group) {
  if (size == nullptr) return kSeveralGroups;
  for (cl_uint at = 0; at < dimensions; ++at) {
    if (size[at] != (group == nullptr ? 1 : group[at])) return kSeveralGroups;
  }
  return 1;
}

cl_int CL_API_CALL order_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                               const size_t* offset, const size_t* size, const size_t* group,
                               cl_uint count, const cl_event* events, cl_event* event) {
  cl_int code = CL_SUCCESS;
  tell_of(queue, {0, groups_of(dimensions, size, group), 0, count, events}, [&] {
    code = inner.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, size, group, count,
                                        events, event);
    return std::pair(event_of(code, event), false);
  });
  return code;
}

void* CL_API_CALL order_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                            cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                            const cl_event* events, cl_event* event, cl_int* code) {
  cl_int own_code = CL_SUCCESS;
  void* mapped = nullptr;
  tell_of(queue, {0, 0, 0, count, events}, [&] {
    mapped = inner.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, events,
                                      event, &own_code);
    return std::pair(event_of(own_code, event), blocking != CL_FALSE && own_code == CL_SUCCESS);
  });
  if (code != nullptr) *code = own_code;
  return mapped;
}

cl_int CL_API_CALL order_marker(cl_command_queue queue, cl_event* event) {
  cl_int code = CL_SUCCESS;
  tell_of(queue, {0, 0, 1, 0, nullptr}, [&] {
    code = inner.clEnqueueMarker(queue, event);
    return std::pair(event_of(code, event), false);
  });
  return code;
}

cl_int CL_API_CALL order_barrier(cl_command_queue queue) {
  cl_int code = CL_SUCCESS;
  tell_of(queue, {0, 0, 2, 0, nullptr}, [&] {
    code = inner.clEnqueueBarrier(queue);
    return std::pair<cl_event, bool>(nullptr, false);
  });
  return code;
}

cl_int CL_API_CALL order_wait(cl_command_queue queue, cl_uint count, const cl_event* events) {
  cl_int code = CL_SUCCESS;
  tell_of(queue, {0, 0, 2, count, events}, [&] {
    code = inner.clEnqueueWaitForEvents(queue, count, events);
    return std::pair<cl_event, bool>(nullptr, false);
  });
  return code;
}

cl_event CL_API_CALL order_user_event(cl_context context, cl_int* code) {
  const cl_event event = inner.clCreateUserEvent(context, code);
  const OrderCalls* const calls = event == nullptr ? nullptr : order_calls();
  if (calls != nullptr) calls->event_made(event);
  return event;
}

}  // namespace

void tell_waited(cl_uint count, const cl_event* events) {
  const OrderCalls* const calls = events == nullptr ? nullptr : order_calls();
  for (cl_uint index = 0; calls != nullptr && index < count; ++index) calls->waited(events[index]);
}

void tell_finished(cl_command_queue queue) {
  if (const OrderCalls* const calls = order_calls()) calls->finished(queue);
}

cl_command_queue tell_made(cl_command_queue queue) {
  const OrderCalls* const calls = queue == nullptr ? nullptr : order_calls();
  if (calls != nullptr) calls->queue_made(queue);
  return queue;
}

void take_order_calls(cl_icd_dispatch& layer) {
  using Table = cl_icd_dispatch;
  take<&Table::clEnqueueReadBuffer, 1>(layer);
  take<&Table::clEnqueueWriteBuffer, 1>(layer);
  take<&Table::clEnqueueReadBufferRect, 1>(layer);
  take<&Table::clEnqueueWriteBufferRect, 1>(layer);
  take<&Table::clEnqueueReadImage, 1>(layer);
  take<&Table::clEnqueueWriteImage, 1>(layer);
  take<&Table::clEnqueueSVMMap, 0>(layer);
  take<&Table::clEnqueueSVMMemcpy, 0>(layer);
  take<&Table::clEnqueueSVMMemFill>(layer);
  take<&Table::clEnqueueSVMUnmap>(layer);
  take<&Table::clEnqueueSVMFree>(layer);
  take<&Table::clEnqueueCopyBuffer>(layer);
  take<&Table::clEnqueueCopyBufferRect>(layer);
  take<&Table::clEnqueueCopyImage>(layer);
  take<&Table::clEnqueueCopyImageToBuffer>(layer);
  take<&Table::clEnqueueCopyBufferToImage>(layer);
  take<&Table::clEnqueueFillBuffer>(layer);
  take<&Table::clEnqueueFillImage>(layer);
  take<&Table::clEnqueueUnmapMemObject>(layer);
  take<&Table::clEnqueueMigrateMemObjects>(layer);
  take<&Table::clEnqueueNativeKernel>(layer);
  take<&Table::clEnqueueMarkerWithWaitList, kNeverBlocks, 1>(layer);
  take<&Table::clEnqueueBarrierWithWaitList, kNeverBlocks, 2>(layer);
  inner = target;
  inner.clEnqueueTask = layer.clEnqueueTask;
  inner.clEnqueueNDRangeKernel = layer.clEnqueueNDRangeKernel;
  layer.clEnqueueTask = order_task;
  layer.clEnqueueNDRangeKernel = order_range;
  layer.clEnqueueMapBuffer = order_map;
  layer.clEnqueueMarker = order_marker;
  layer.clEnqueueBarrier = order_barrier;
  layer.clEnqueueWaitForEvents = order_wait;
  layer.clCreateUserEvent = order_user_event;
}

}  // namespace tandem::emulation
