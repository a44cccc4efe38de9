// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a kernel that crashes. Its event and those of later kernels get a negative status;
// waits and clFinish return an error; no call waits for ever; reads after it give bytes that no
// kernel wrote; a queue made later is not affected; the other card goes on.
#include <atomic>
#include <thread>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

struct Rig {
  Rig(const std::string& xclbin, size_t index, cl_command_queue_properties properties)
      : card(xclbin, index),
        queue(card.queue(properties)),
        kernel(card.kernel("fragile")),
        out(card.buffer(CL_MEM_READ_WRITE, 4)) {}

  cl_event start(cl_int value) {
    cl_event event = nullptr;
    set_arguments(kernel.get(), out, value);
    OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, &event));
    return event;
  }
  int read() {
    int value = 0;
    OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
    return value;
  }

  LoadedCard card;
  Queue queue;
  Kernel kernel;
  Memory out;
};

cl_int status_of(const Event& event) {
  cl_int status = CL_SUCCESS;
  OCL(clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                     nullptr));
  return status;
}

void CL_CALLBACK on_end(cl_event, cl_int status, void* ended) {
  CHECK(status < 0);
  static_cast<std::atomic<bool>*>(ended)->store(true);
}

// Then no other thread frees what the event holds, and this thread gets the memory again.
void wait_for_last_reference(cl_event event) {
  cl_uint count = 0;
  while (clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(count), &count, nullptr) ==
             CL_SUCCESS &&
         count > 1) {
    std::this_thread::yield();
  }
}

// The queue of a failed kernel goes unasked; one of the next queues usually has its address.
void replace_failed_queue(Rig& failing, Rig& sound) {
  failing.queue = failing.card.queue();  // held by no earlier event
  {
    const Event unseen(failing.start(8));
    const cl_event event = unseen.get();
    CHECK_EQ(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    wait_for_last_reference(event);
  }
  const cl_command_queue gone = failing.queue.get();
  failing.queue.reset();
  std::vector<Queue> queues;
  do {
    queues.push_back(sound.card.queue());
  } while (queues.back().get() != gone && queues.size() < 64);
  sound.queue = std::move(queues.back());
  const Event good(sound.start(6));
  CHECK_EQ(sound.read(), 6);
  CHECK_EQ(clFinish(sound.queue.get()), CL_SUCCESS);
}

void fail(const Arguments& arguments) {
  Rig failing(arguments.xclbin, 0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  Rig sound(arguments.xclbin, 1, 0);
  const Event good(failing.start(42));
  const cl_event good_event = good.get();
  OCL(clWaitForEvents(1, &good_event));
  CHECK_EQ(status_of(good), CL_COMPLETE);
  CHECK_EQ(failing.read(), 42);

  std::atomic<bool> ended{false};
  const Event bad(failing.start(-1));
  OCL(clSetEventCallback(bad.get(), CL_COMPLETE, on_end, &ended));
  const cl_event bad_event = bad.get();
  const cl_mem out = failing.out.get();
  cl_event after = nullptr;
  OCL(clEnqueueMigrateMemObjects(failing.queue.get(), 1, &out, CL_MIGRATE_MEM_OBJECT_HOST, 1,
                                 &bad_event, &after));
  const Event migration(after);  // does not hang
  CHECK_EQ(clWaitForEvents(1, &bad_event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(status_of(bad) < 0);
  int value = 0;
  CHECK(clEnqueueReadBuffer(failing.queue.get(), out, CL_TRUE, 0, 4, &value, 1, &bad_event,
                            nullptr) != CL_SUCCESS);
  CHECK(value != 42);  // an earlier result must not be taken for this one
  CHECK_EQ(clFinish(failing.queue.get()), CL_OUT_OF_RESOURCES);
  CHECK(ended.load());
  CHECK_EQ(clFinish(failing.queue.get()), CL_SUCCESS);  // reported once

  const Event later(failing.start(7));
  CHECK(clFinish(failing.queue.get()) != CL_SUCCESS);
  CHECK(status_of(later) < 0);

  const Event elsewhere(sound.start(5));
  OCL(clFinish(sound.queue.get()));
  CHECK_EQ(status_of(elsewhere), CL_COMPLETE);
  CHECK_EQ(sound.read(), 5);
  replace_failed_queue(failing, sound);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, fail); }
