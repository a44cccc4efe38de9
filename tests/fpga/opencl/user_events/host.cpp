// SPDX-License-Identifier: Apache-2.0
//
// Exercises: user events that hold commands back, callbacks of events, markers and barriers in an
// out-of-order queue, waiting for lists of events, reference counts.
#include <atomic>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 100;

void CL_CALLBACK on_complete(cl_event, cl_int status, void* count) {
  CHECK_EQ(status, CL_COMPLETE);
  static_cast<std::atomic<int>*>(count)->fetch_add(1);
}

cl_int status_of(const Event& event) {
  cl_int status = CL_SUCCESS;
  OCL(clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                     nullptr));
  return status;
}

Event user_event(const LoadedCard& card) {
  cl_int code = CL_SUCCESS;
  Event event(clCreateUserEvent(card.context.get(), &code));
  OCL(code);
  return event;
}

Event start(const Queue& queue, const Kernel& kernel, const std::vector<cl_event>& before = {}) {
  cl_event event = nullptr;
  OCL(clEnqueueTask(queue.get(), kernel.get(), static_cast<cl_uint>(before.size()),
                    before.empty() ? nullptr : before.data(), &event));
  return Event(event);
}

struct Rig {
  explicit Rig(const std::string& xclbin)
      : card(xclbin),
        queue(card.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)),
        scale(card.kernel("scale")),
        values(numbers(kSize, 3)),
        data(card.buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kSize * 4, values.data())) {
    set_arguments(scale.get(), data, cl_int{3}, kSize);
  }

  LoadedCard card;
  Queue queue;
  Kernel scale;
  std::vector<int> values;
  Memory data;
};

// The first launch waits for the application.
Event launch_through_gate(const Rig& rig, std::atomic<int>& ended) {
  const Event gate = user_event(rig.card);
  Event first = start(rig.queue, rig.scale, {gate.get()});
  OCL(clSetEventCallback(first.get(), CL_COMPLETE, on_complete, &ended));
  CHECK_EQ(status_of(gate), CL_SUBMITTED);
  CHECK_EQ(status_of(first), CL_QUEUED);
  CHECK_EQ(ended.load(), 0);
  OCL(clSetUserEventStatus(gate.get(), CL_COMPLETE));
  const cl_event waited = first.get();
  OCL(clWaitForEvents(1, &waited));
  OCL(clFinish(rig.queue.get()));
  CHECK_EQ(ended.load(), 1);
  CHECK_EQ(status_of(first), CL_COMPLETE);
  OCL(clSetEventCallback(first.get(), CL_COMPLETE, on_complete, &ended));
  CHECK_EQ(ended.load(), 2);  // already complete: at once
  return first;
}

void hold(const Arguments& arguments) {
  const Rig rig(arguments.xclbin);
  std::atomic<int> ended{0};
  const Event first = launch_through_gate(rig, ended);
  const cl_event first_event = first.get();
  cl_event marker = nullptr, barrier = nullptr;
  OCL(clEnqueueMarkerWithWaitList(rig.queue.get(), 1, &first_event, &marker));
  const Event second = start(rig.queue, rig.scale, {marker});
  const cl_event second_event = second.get();
  OCL(clEnqueueBarrierWithWaitList(rig.queue.get(), 1, &second_event, &barrier));
  const Event third = start(rig.queue, rig.scale);  // behind the barrier
  std::vector<int> results(kSize);
  const cl_event third_event = third.get();
  OCL(clEnqueueReadBuffer(rig.queue.get(), rig.data.get(), CL_TRUE, 0, kSize * 4, results.data(), 1,
                          &third_event, nullptr));
  for (unsigned int i = 0; i < kSize; ++i) {
    CHECK_EQ(results[i], ((rig.values[i] * 3 + 1) * 3 + 1) * 3 + 1);
  }
  OCL(clReleaseEvent(marker));
  OCL(clReleaseEvent(barrier));
  OCL(clFinish(rig.queue.get()));
  CHECK(clSetEventCallback(first.get(), CL_COMPLETE, nullptr, nullptr) != CL_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, hold); }
