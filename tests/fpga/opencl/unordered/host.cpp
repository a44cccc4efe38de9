// SPDX-License-Identifier: Apache-2.0
//
// Exercises: two kernels that change the same buffer are a race unless queue, event, barrier or the
// program orders them, however short they are. What is ordered gives no finding.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kValues = 16;
constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

std::string take_report() {
  const char* const name = std::getenv("TANDEM_CARD_REPORT");
  std::ifstream in(name);
  const std::string report(std::istreambuf_iterator<char>(in), {});
  std::remove(name);
  return report;
}

class Bench {
 public:
  explicit Bench(const std::string& xclbin)
      : card_(xclbin),
        queues_{card_.queue(), card_.queue()},
        free_queue_(card_.queue(kOutOfOrder)),
        kernels_{card_.kernel("scale:{scale_1}"), card_.kernel("scale:{scale_2}")} {}

  cl_command_queue queue(int index = 0) const { return queues_[index].get(); }
  cl_command_queue out_of_order() const { return free_queue_.get(); }
  // A buffer for the following runs, which the card has.
  void renew() {
    data_ = card_.buffer(CL_MEM_READ_WRITE, kValues * sizeof(int));
    OCL(clEnqueueWriteBuffer(queue(), data_.get(), CL_TRUE, 0, kValues * sizeof(int), values_, 0,
                             nullptr, nullptr));
    for (const Kernel& kernel : kernels_) {
      set_arguments(kernel.get(), data_.get(), cl_int{3}, kValues);
    }
  }
  // Starts the kernel of a unit behind `before`.
  Event run(int unit, cl_command_queue queue, const std::vector<cl_event>& before = {}) const {
    cl_event event = nullptr;
    const auto count = static_cast<cl_uint>(before.size());
    OCL(clEnqueueTask(queue, kernels_[unit].get(), count, count == 0 ? nullptr : before.data(),
                      &event));
    return Event(event);
  }
  Event read(cl_command_queue queue, cl_bool blocking,
             const std::vector<cl_event>& before = {}) const {
    cl_event event = nullptr;
    const auto count = static_cast<cl_uint>(before.size());
    OCL(clEnqueueReadBuffer(queue, data_.get(), blocking, 0, kValues * sizeof(int), results_, count,
                            count == 0 ? nullptr : before.data(), &event));
    return Event(event);
  }
  Event migrate(cl_command_queue queue, cl_event before) const {
    cl_event event = nullptr;
    cl_mem data = data_.get();
    OCL(clEnqueueMigrateMemObjects(queue, 1, &data, CL_MIGRATE_MEM_OBJECT_HOST, 1, &before,
                                   &event));
    return Event(event);
  }
  Event user_event() const {
    cl_int code = CL_SUCCESS;
    Event made(clCreateUserEvent(card_.context.get(), &code));
    OCL(code);
    return made;
  }
  // Both kernels have changed the values.
  void check_results() const {
    const Event last = read(queue(), CL_TRUE);
    for (unsigned int i = 0; i < kValues; ++i) {
      CHECK_EQ(results_[i], (values_[i] * 3 + 1) * 3 + 1);
    }
  }
  void finish() const {
    for (const Queue& each : queues_) OCL(clFinish(each.get()));
    OCL(clFinish(free_queue_.get()));
  }

 private:
  const LoadedCard card_;
  const Queue queues_[2];
  const Queue free_queue_;
  const Kernel kernels_[2];
  const int values_[kValues] = {1, 2, 3};
  mutable int results_[kValues] = {};
  Memory data_;
};

struct Case {
  const char* name;
  bool is_race;
  std::function<void(const Bench&)> run;
};

void wait_for(const Event& event) {
  const cl_event handle = event.get();
  OCL(clWaitForEvents(1, &handle));
}

void ask_for(const Event& event) {
  cl_int status = CL_QUEUED;
  while (status != CL_COMPLETE) {
    OCL(clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                       nullptr));
  }
}

// Of one queue, or of several queues that events order.
std::vector<Case> cases_of_queues() {
  return {{"a queue with an order", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue());
             const Event second = bench.run(1, bench.queue());
           }},
          {"a queue without an order", true,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             const Event second = bench.run(1, bench.out_of_order());
           }},
          {"an event", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             const Event second = bench.run(1, bench.out_of_order(), {first.get()});
           }},
          {"two queues that an event ordered before", true,
           [](const Bench& bench) {
             const Event before = bench.run(0, bench.queue(0));
             const Event behind = bench.run(1, bench.queue(1), {before.get()});
             const Event first = bench.run(0, bench.queue(0));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"two queues", true,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue(0));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"an event between two queues", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue(0));
             const Event second = bench.run(1, bench.queue(1), {first.get()});
           }},
          {"a command between", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             const Event moved = bench.migrate(bench.out_of_order(), first.get());
             const Event second = bench.run(1, bench.out_of_order(), {moved.get()});
           }},
          {"an event that is not the kernel's", true,
           [](const Bench& bench) {
             const Event before = bench.read(bench.out_of_order(), CL_FALSE);
             const Event first = bench.run(0, bench.out_of_order(), {before.get()});
             wait_for(before);
             const Event second = bench.run(1, bench.out_of_order(), {before.get()});
           }},
          {"a barrier", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             OCL(clEnqueueBarrierWithWaitList(bench.out_of_order(), 0, nullptr, nullptr));
             const Event second = bench.run(1, bench.out_of_order());
           }},
          {"a marker", false, [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue(0));
             cl_event marker = nullptr;
             OCL(clEnqueueMarkerWithWaitList(bench.queue(0), 0, nullptr, &marker));
             const Event owned(marker);
             const Event second = bench.run(1, bench.queue(1), {marker});
           }}};
}

// The program waits, or sees the end.
std::vector<Case> cases_of_waits() {
  return {{"a wait for the event", false,
           [](const Bench& bench) {
             wait_for(bench.run(0, bench.queue(0)));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"the event's status", false,
           [](const Bench& bench) {
             ask_for(bench.run(0, bench.queue(0)));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"a queue that is finished", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             OCL(clFinish(bench.out_of_order()));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"another queue that is finished", true,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue(0));
             OCL(clFinish(bench.queue(1)));
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"a blocking read", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.queue(0));
             const Event read = bench.read(bench.queue(0), CL_TRUE);
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"a blocking read behind the event", false,
           [](const Bench& bench) {
             const Event first = bench.run(0, bench.out_of_order());
             const Event read = bench.read(bench.out_of_order(), CL_TRUE, {first.get()});
             const Event second = bench.run(1, bench.queue(1));
           }},
          {"an event of the program", false, [](const Bench& bench) {
             const Event gate = bench.user_event();
             const Event first = bench.run(0, bench.queue(0));
             const Event second = bench.run(1, bench.queue(1), {gate.get()});
             wait_for(first);
             OCL(clSetUserEventStatus(gate.get(), CL_COMPLETE));
           }}};
}

void look_at(Bench& bench, const Case& each) {
  bench.renew();
  each.run(bench);
  bench.finish();
  if (!each.is_race) bench.check_results();
  const std::string report = take_report();
  const bool is_told = report.find("{\"kind\": \"race\"") == 0 &&
                       report.find('\n') == report.size() - 1;  // one finding
  if (each.is_race ? !is_told : !report.empty()) {
    report_failure(__FILE__, __LINE__, std::string(each.name) + ": " + report);
  }
}

void check(const Arguments& arguments) {
  take_report();
  Bench bench(arguments.xclbin);
  for (const auto& cases : {cases_of_queues(), cases_of_waits()}) {
    for (const Case& each : cases) look_at(bench, each);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, check); }
