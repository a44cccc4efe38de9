// SPDX-License-Identifier: Apache-2.0
//
// Bugs that take two things: units whose runs have no order, and a program that changes what a run
// uses.
#include <ert.h>

#include <chrono>
#include <future>
#include <thread>

#include "corpus.h"

namespace tandem::fpga_test {
namespace {

constexpr const char* kThisFile = "unit_rows.cpp";
constexpr int kPart = kCount / 4;

xrt::bo make_filled(Bench& bench, const xrt::kernel& fill) {
  xrt::bo out(bench.device, kBytes, fill.group_id(0));
  out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return out;
}

// The first unit fills the first words and reads the last of them.
void run_both(Bench& bench, int second_begin, int second_read) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::run a = first(out, 0, kPart, kPart - 1);
  xrt::run b = second(out, second_begin, kPart, second_read);
  CHECK_EQ(a.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(b.wait(kPatience), ERT_CMD_STATE_COMPLETED);
}

void both_write(Bench& bench, bool bad) {
  run_both(bench, bad ? 0 : kPart, bad ? kCount - 1 : kPart);
}

void parts_overlap(Bench& bench, bool bad) {
  run_both(bench, bad ? kPart - 1 : kPart, bad ? kCount - 1 : kPart);
}

void reads_while_other_writes(Bench& bench, bool bad) { run_both(bench, kPart, bad ? 0 : kPart); }

void run_without_wait(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::run a = first(out, 0, kPart, 0);
  if (!bad) a.wait(kPatience);
  xrt::run b = second(out, 0, kPart, 0);
  a.wait(kPatience);
  b.wait(kPatience);
}

// Runs may be over before the other one starts, or not: only the wait orders them.
void let_end() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

// The second unit reads what the first one wrote.
void consumer_without_wait(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::run a = first(out, 0, kPart, 0);
  bad ? let_end() : static_cast<void>(a.wait(kPatience));
  xrt::run b = second(out, kPart, kPart, 0);
  a.wait(kPatience);
  b.wait(kPatience);
}

// Twin: the state of the run tells the program of its end.
void writer_without_wait(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::run a = first(out, 0, kPart, 0);
  while (!bad && a.state() != ERT_CMD_STATE_COMPLETED) {
  }
  if (bad) let_end();
  xrt::run b = second(out, 0, kPart, 0);
  a.wait(kPatience);
  b.wait(kPatience);
}

// Twin: the program looks at the packet of the run itself, and needs no wait.
void packet_is_not_read(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::run a = first(out, 0, kPart, 0);
  const volatile uint32_t* const header = bad ? nullptr : &a.get_ert_packet()->header;
  while (!bad && (*header & 0xf) < ERT_CMD_STATE_COMPLETED) std::this_thread::yield();
  if (bad) let_end();
  xrt::run b = second(out, 0, kPart, 0);
  if (bad) a.wait(kPatience);
  b.wait(kPatience);
}

// Both kernels write the first word of `out`, and nothing else. Twin: a callback tells of the end.
void one_word(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("memory_bugs");
  xrt::kernel second = bench.kernel("local_bugs");
  Buffers buffers = bench.make(first);
  std::promise<void> ended;
  xrt::run a(first);
  const auto tell = [](const void*, ert_cmd_state, void* data) {
    static_cast<std::promise<void>*>(data)->set_value();
  };
  if (!bad) a.add_callback(ERT_CMD_STATE_COMPLETED, tell, &ended);
  a(buffers.in, buffers.out, buffers.scratch, kCount, -1);
  if (!bad) ended.get_future().wait();
  xrt::run b = second(buffers.in, buffers.out, buffers.scratch, kCount, -1);
  a.wait(kPatience);
  b.wait(kPatience);
}

// XRT may give the runs to the two units, or both to the first one.
void runs_of_any_unit(Bench& bench, bool bad) {
  xrt::kernel any = bench.kernel("fill");
  xrt::bo out = make_filled(bench, any);
  xrt::run a = any(out, 0, kPart, 0);
  bad ? let_end() : static_cast<void>(a.wait(kPatience));
  xrt::run b = any(out, 0, kPart, 0);
  a.wait(kPatience);
  b.wait(kPatience);
}

// The race is the finding; that nobody waits for the first run is its cause.
void only_consumer_waited_for(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  {
    xrt::run a = first(out, 0, kPart, 0);
    if (!bad) a.wait(kPatience);
    if (bad) let_end();
    xrt::run b = second(out, 0, kPart, 0);
    b.wait(kPatience);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  second(out, 0, kPart, 0).wait(kPatience);  // it gets a packet of the others
  first(out, 0, kPart, 0).wait(kPatience);
}

// Twin: one unit makes its runs in order, and a wait for the last one is enough.
void waited_for_another(Bench& bench, bool bad) {
  xrt::kernel first = bench.kernel("fill:{fill_1}");
  xrt::kernel second = bench.kernel("fill:{fill_2}");
  xrt::bo out = make_filled(bench, first);
  xrt::bo other = make_filled(bench, first);
  xrt::run a = first(bad ? other : out, 0, kPart, 0);
  xrt::run b = first(bad ? out : other, 0, kPart, 0);
  (bad ? a : b).wait(kPatience);
  if (bad) let_end();
  xrt::run c = second(out, 0, kPart, 0);
  b.wait(kPatience);
  c.wait(kPatience);
}

// A run that ends when the program says so.
struct GatedRun {
  explicit GatedRun(Bench& bench)
      : kernel(bench.kernel("waits")),
        gate(bench.device, kBytes, kernel.group_id(0)),
        out(bench.device, kBytes, kernel.group_id(1)) {
    set_gate(0);
    run = kernel(gate, out, 0);
    while (run.state() < ERT_CMD_STATE_RUNNING) {
    }
  }
  void end() {
    set_gate(1);
    CHECK_EQ(run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  }
  void set_gate(int value) {
    gate.map<int*>()[0] = value;
    gate.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }

  xrt::kernel kernel;
  xrt::bo gate, out;
  xrt::run run;
};

void freed_during_run(Bench& bench, bool bad) {
  GatedRun gated(bench);
  if (!bad) gated.end();
  gated.out = xrt::bo();  // bug freed_during_run
  if (bad) gated.end();
}

// The kernel adds to the words: a store that follows a load.
void sum_read_early(Bench& bench, bool bad) {
  xrt::kernel fill = bench.kernel("fill:{fill_1}");
  xrt::bo out = make_filled(bench, fill);
  CHECK_EQ(fill(out, 0, kPart, 0).wait(kPatience), ERT_CMD_STATE_COMPLETED);
  if (!bad) out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  volatile int* const sums = out.map<int*>();
  [[maybe_unused]] const int sum = sums[1];  // bug sum_read_early
}

void set_during_run(Bench& bench, bool bad) {
  GatedRun gated(bench);
  if (!bad) gated.end();
  gated.run.set_arg(2, 0);  // bug set_during_run
  if (bad) gated.end();
}

// Which access meets which depends on the machine, so no line is expected.
Row unordered(const char* name, std::function<void(Bench&, bool)> run) {
  return {name, "race", "out", "", std::move(run)};
}

Row marked(const char* name, const char* kind, const char* argument,
           std::function<void(Bench&, bool)> run) {
  return {name, kind, argument, kThisFile, std::move(run)};
}

}  // namespace

std::vector<Row> unit_rows() {
  return {unordered("both_write", both_write),
          unordered("parts_overlap", parts_overlap),
          unordered("reads_while_other_writes", reads_while_other_writes),
          unordered("run_without_wait", run_without_wait),
          unordered("consumer_without_wait", consumer_without_wait),
          unordered("writer_without_wait", writer_without_wait),
          unordered("packet_is_not_read", packet_is_not_read),
          unordered("one_word", one_word),
          unordered("runs_of_any_unit", runs_of_any_unit),
          unordered("only_consumer_waited_for", only_consumer_waited_for),
          unordered("waited_for_another", waited_for_another),
          marked("freed_during_run", "use_after_free", "out", freed_during_run),
          marked("sum_read_early", "missing_sync_from_device", "out", sum_read_early),
          marked("set_during_run", "bad_argument", "value", set_during_run)};
}

}  // namespace tandem::fpga_test
