// SPDX-License-Identifier: Apache-2.0
//
// Bugs that take two things at once: units that run at the same time, and a program that changes
// what a run uses.
#include "corpus.h"

namespace tandem::fpga_test {
namespace {

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

// The second run begins once the first has ended.
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

void freed_during_run(Bench& bench, bool bad) {
  xrt::kernel fill = bench.kernel("fill:{fill_1}");
  xrt::bo out = make_filled(bench, fill);
  xrt::run run = fill(out, 0, kPart, 0);
  while (bad && run.state() < ERT_CMD_STATE_RUNNING) {
  }
  if (bad) out = xrt::bo();
  CHECK_EQ(run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
}

// The kernel adds to the words: a store that follows a load.
void sum_read_early(Bench& bench, bool bad) {
  xrt::kernel fill = bench.kernel("fill:{fill_1}");
  xrt::bo out = make_filled(bench, fill);
  CHECK_EQ(fill(out, 0, kPart, 0).wait(kPatience), ERT_CMD_STATE_COMPLETED);
  if (!bad) out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  [[maybe_unused]] const int sum = static_cast<volatile int*>(out.map<int*>())[1];
}

void set_during_run(Bench& bench, bool bad) {
  xrt::kernel fill = bench.kernel("fill:{fill_1}");
  xrt::bo out = make_filled(bench, fill);
  xrt::run run = fill(out, 0, kPart, 0);
  if (!bad) run.wait(kPatience);
  run.set_arg(3, 1);
  run.wait(kPatience);
}

// Which access meets which depends on the machine, so no line is expected.
Row repeated(const char* name, const char* kind, const char* argument,
             std::function<void(Bench&, bool)> run) {
  Row row{name, kind, argument, "", std::move(run)};
  row.is_repeated = true;
  return row;
}

}  // namespace

std::vector<Row> unit_rows() {
  return {repeated("both_write", "race", "out", both_write),
          repeated("parts_overlap", "race", "out", parts_overlap),
          repeated("reads_while_other_writes", "race", "out", reads_while_other_writes),
          repeated("run_without_wait", "race", "out", run_without_wait),
          repeated("freed_during_run", "use_after_free", "out", freed_during_run),
          repeated("sum_read_early", "missing_sync_from_device", "out", sum_read_early),
          repeated("set_during_run", "bad_argument", "read", set_during_run)};
}

}  // namespace tandem::fpga_test
