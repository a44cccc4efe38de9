// SPDX-License-Identifier: Apache-2.0
//
// Bugs of the program: buffers, syncs, arguments. The mark is at the program's line.
#include "corpus.h"

namespace tandem::fpga_test {
namespace {

constexpr const char* kThisFile = "host_rows.cpp";
constexpr int kTwin = -1;  // a run without a bug: reads in[count - 1], writes out[0]

xrt::kernel memory(Bench& bench) { return bench.kernel("memory_bugs"); }

// Sets the arguments of a run one by one, but for `left_out`.
xrt::run prepared(Bench& bench, Buffers& buffers, int left_out = -1) {
  xrt::run run(memory(bench));
  if (left_out != 0) run.set_arg(0, buffers.in);
  if (left_out != 1) run.set_arg(1, buffers.out);
  if (left_out != 2) run.set_arg(2, buffers.scratch);
  if (left_out != 3) run.set_arg(3, kCount);
  if (left_out != 4) run.set_arg(4, kTwin);
  return run;
}

void run_prepared(xrt::run& run) {
  run.start();
  run.wait(kPatience);
}

Row row(const char* name, const char* kind, const char* argument,
        std::function<void(Bench&, bool)> run) {
  return {name, kind, argument, kThisFile, std::move(run)};
}

// A finding of the kernel, at the line of a bug of memory.cpp; and one without a line.
Row at_kernel(Row made) {
  made.file = "";
  return made;
}

void never_synced(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  buffers.in.map<int*>()[kCount - 1] = 5;
  if (!bad) buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  bench.run_well(kernel, buffers);
}

void changed_after_first_run(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  bench.run_well(kernel, buffers);
  buffers.in.map<int*>()[kCount - 1] = 6;
  if (!bad) buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  bench.run_well(kernel, buffers);
}

void synced_first_half(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  buffers.in.map<int*>()[kCount - 1] = 7;
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE, bad ? kBytes / 2 : kBytes, 0);
  bench.run_well(kernel, buffers);
}

void wrong_direction(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  buffers.in.map<int*>()[kCount - 1] = 8;
  const auto direction = bad ? XCL_BO_SYNC_BO_FROM_DEVICE : XCL_BO_SYNC_BO_TO_DEVICE;
  if (bad) buffers.scratch.sync(direction);
  if (!bad) buffers.in.sync(direction);
  bench.run_well(kernel, buffers);
}

void never_filled(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  buffers.in = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  if (!bad) buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  bench.run_well(kernel, buffers);
}

void read_before_sync(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  int* const out = buffers.out.map<int*>();
  bench.run_well(kernel, buffers);
  if (!bad) buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  [[maybe_unused]] const int value = static_cast<volatile int*>(out)[0];  // bug read_before_sync
}

void not_waited_for(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  run.start();
  if (!bad) run.wait(kPatience);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);  // bug not_waited_for
  run.wait(kPatience);
}

// Twin: a wait for a later run of the same unit is one for the earlier run.
void waited_for_the_first(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run first = prepared(bench, buffers);
  xrt::run second = prepared(bench, buffers);
  first.start();
  second.start();
  (bad ? first : second).wait(kPatience);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);  // bug waited_for_the_first
  second.wait(kPatience);
}

// Twin: a callback, added before the start, tells the program of the end.
void without_callback(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  const auto ignored = [](const void*, ert_cmd_state, void*) {};
  if (!bad) run.add_callback(ERT_CMD_STATE_COMPLETED, ignored, nullptr);
  run.start();
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);  // bug without_callback
  run.wait(kPatience);
}

// Twin: an aborted run is over. Its kernel may still end, before the next run of the unit begins.
void not_aborted(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  run.start();
  if (!bad) run.abort();
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);  // bug not_aborted
  run.wait(kPatience);
  bench.run_well(kernel, buffers);
}

// Twin: the part behind is that of another run, as if each run had a view of the buffer.
void part_not_waited_for(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  run.start();
  const size_t part = kBytes / 2;
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, part, bad ? 0 : part);  // bug part_not_waited_for
  run.wait(kPatience);
}

// Twin: the kernel only reads `in`, and writes nothing to `scratch`, which it could.
void sync_of_an_output(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  buffers.scratch.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run run = prepared(bench, buffers);
  run.start();
  buffers.in.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  buffers.scratch.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  if (bad) buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);  // bug sync_of_an_output
  run.wait(kPatience);
}

// A later run tells it, which gets the packet of the first.
void never_waited_for(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  {
    xrt::run run = prepared(bench, buffers);
    run.start();  // bug never_waited_for
    if (!bad) run.wait(kPatience);
  }
  xrt::run next = prepared(bench, buffers);
  run_prepared(next);
}

void synced_another_part(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  int* const out = buffers.out.map<int*>();
  bench.run_well(kernel, buffers);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, kBytes / 2, bad ? kBytes / 2 : 0);
  [[maybe_unused]] const int value = static_cast<volatile int*>(out)[0];  // bug synced_another_part
}

void library_reads_early(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  int values[4];
  bench.run_well(kernel, buffers);
  if (!bad) buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  buffers.out.read(values, sizeof(values), 0);  // bug library_reads_early
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
}

void second_run_read_early(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  int* const out = buffers.out.map<int*>();
  bench.run_well(kernel, buffers);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  bench.run_well(kernel, buffers);
  if (!bad) buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  [[maybe_unused]] const int value =
      static_cast<volatile int*>(out)[0];  // bug second_run_read_early
}

// The kernel gets a bare address, and touches nothing there: only the begin of the run tells.
void run_with_address(Bench& bench, uint64_t address) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, 2);
  run.set_arg(2, address);
  run_prepared(run);
}

void other_bank(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  xrt::bo buffer(bench.device, kBytes, kernel.group_id(bad ? 1 : 2));
  run_with_address(bench, buffer.address());
}

void no_buffer_there(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  xrt::bo buffer(bench.device, kBytes, kernel.group_id(2));
  run_with_address(bench, bad ? 64 : buffer.address());
}

// XRT lets the run use a copy in the right bank, which the program never sees.
void group_of_another(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  if (bad) buffers.out = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  xrt::run run = prepared(bench, buffers);
  run.start();  // bug group_of_another
  run.wait(kPatience);
}

// Behind all other buffers, so that no later one takes its place.
void freed_before_run(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  xrt::bo before(bench.device, kBytes * 1024, kernel.group_id(2));
  xrt::bo buffer(bench.device, kBytes, kernel.group_id(2));
  const uint64_t address = buffer.address();
  if (bad) buffer = xrt::bo();
  run_with_address(bench, address);
}

void larger_count(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, 3);
  run.set_arg(3, bad ? kCount + 1 : kCount);
  run_prepared(run);
}

void smaller_buffer(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  const size_t bytes = bad ? kBytes / 2 : kBytes;
  buffers.in = xrt::bo(bench.device, bytes, kernel.group_id(0));
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  bench.run_well(kernel, buffers);
}

void narrow_value(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, bad ? 3 : -1);
  if (bad) run.set_arg(3, int16_t{kCount});
  if (bad) run.set_arg(4, 0);
  run.start();  // bug narrow_value
  run.wait(kPatience);
}

void wide_value(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, bad ? 3 : -1);
  if (bad) run.set_arg(3, int64_t{kCount});
  run.start();  // bug wide_value
  run.wait(kPatience);
}

void left_out(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, bad ? 4 : -1);
  run.start();  // bug left_out
  run.wait(kPatience);
}

void value_for_pointer(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers, bad ? 2 : -1);
  if (bad) run.set_arg(2, 3);
  run.start();  // bug value_for_pointer
  run.wait(kPatience);
}

void buffer_for_value(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  try {
    if (bad) run.set_arg(3, buffers.in);  // bug buffer_for_value
  } catch (const std::exception&) {
  }
  if (!bad) run_prepared(run);
}

void address_of_the_host(Bench& bench, bool bad) {
  std::vector<int> values(kCount);
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  if (bad) run.set_arg(2, reinterpret_cast<uint64_t>(values.data()));
  run.start();  // bug address_of_the_host
  run.wait(kPatience);
}

void one_too_many(Bench& bench, bool bad) {
  xrt::kernel kernel = memory(bench);
  Buffers buffers = bench.make(kernel);
  xrt::run run = prepared(bench, buffers);
  try {
    if (bad) run.set_arg(5, 1);
  } catch (const std::exception&) {  // XRT's own refusal
  }
  if (!bad) run_prepared(run);
}

}  // namespace

std::vector<Row> buffer_rows() {
  const char* const to = "missing_sync_to_device";
  const char* const from = "missing_sync_from_device";
  return {at_kernel(row("never_synced", to, "in", never_synced)),
          at_kernel(row("changed_after_first_run", to, "in", changed_after_first_run)),
          at_kernel(row("synced_first_half", to, "in", synced_first_half)),
          at_kernel(row("wrong_direction", to, "in", wrong_direction)),
          at_kernel(row("never_filled", "uninitialised_memory", "in", never_filled)),
          row("read_before_sync", from, "out", read_before_sync),
          row("synced_another_part", from, "out", synced_another_part),
          row("library_reads_early", from, "out", library_reads_early),
          row("second_run_read_early", from, "out", second_run_read_early),
          row("not_waited_for", "missing_wait", "out", not_waited_for),
          row("waited_for_the_first", "missing_wait", "out", waited_for_the_first),
          at_kernel(row("larger_count", "out_of_bounds", "in", larger_count)),
          at_kernel(row("smaller_buffer", "out_of_bounds", "in", smaller_buffer)),
          at_kernel(row("other_bank", "wrong_bank", "scratch", other_bank)),
          at_kernel(row("no_buffer_there", "bad_argument", "scratch", no_buffer_there)),
          at_kernel(row("freed_before_run", "use_after_free", "scratch", freed_before_run)),
          row("without_callback", "missing_wait", "out", without_callback),
          row("not_aborted", "missing_wait", "out", not_aborted),
          row("sync_of_an_output", "missing_wait", "out", sync_of_an_output),
          row("never_waited_for", "missing_wait", "", never_waited_for),
          row("part_not_waited_for", "missing_wait", "out", part_not_waited_for),
          row("group_of_another", "wrong_bank", "out", group_of_another)};
}

std::vector<Row> argument_rows() {
  const char* const kind = "bad_argument";
  return {row("narrow_value", kind, "count", narrow_value),
          row("wide_value", kind, "count", wide_value),
          row("left_out", kind, "bug", left_out),
          row("value_for_pointer", kind, "scratch", value_for_pointer),
          row("buffer_for_value", kind, "count", buffer_for_value),
          row("address_of_the_host", kind, "scratch", address_of_the_host),
          at_kernel(row("one_too_many", kind, "", one_too_many))};
}

}  // namespace tandem::fpga_test
