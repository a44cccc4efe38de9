// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of the program: results that are read before their sync, and arguments that do not
// fit. What is right stays silent.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "drivers/emulation/faults/tandem_card_faults.h"
#include "probe.h"

namespace tandem::fpga_test {
namespace {

constexpr const char* kThisFile = "host_side.cpp";
constexpr size_t kLast = kCount - 1;

void run_well(Probe& probe, Probe::Buffers& buffers) {
  CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
}

// The finding of a run whose arguments `set_more` sets after the two buffers.
void expect_bad(Probe& probe, const std::string& argument, const std::string& message,
                const std::function<void(xrt::run&, Probe::Buffers&)>& set_more) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run run(probe.kernel);
  run.set_arg(0, buffers.in);
  run.set_arg(1, buffers.out);
  set_more(run, buffers);
  run.start();
  run.wait(kPatience);
  const std::string report = take_report();
  CHECK_EQ(count_of(report, "{\"kind\": \"bad_argument\""), argument.empty() ? 0 : 1);
  if (argument.empty()) return CHECK_EQ(report, "");
  CHECK(count_of(report, "\"argument\": \"" + argument + "\"") >= 1);
  CHECK_EQ(count_of(report, message), 1);
  CHECK_EQ(count_of(report, std::string(kThisFile) + "\", \"line\": "), 1);
}

void expect_refused(const std::string& message, const std::function<void()>& call) {
  bool is_refused = false;
  try {
    call();
  } catch (const std::exception&) {
    is_refused = true;
  }
  CHECK(is_refused);
  const std::string report = take_report();
  CHECK_EQ(count_of(report, "{\"kind\": \"bad_argument\""), 1);
  CHECK_EQ(count_of(report, message), 1);
  CHECK_EQ(count_of(report, "\"kernel\": \"probe\""), 1);
}

// Debian's library would crash.
void find_refused_buffers(Probe& probe) {
  auto buffers = probe.make();
  xrt::run run(probe.kernel);
  expect_refused("the argument 2 of a run: it takes a value or a stream, not a buffer",
                 [&] { run.set_arg(2, buffers.in); });
  expect_refused("the argument 4 of a run: the kernel has no such argument",
                 [&] { run.set_arg(4, buffers.in); });
  expect_refused("the argument 1 of a run: the xrt::bo is empty",
                 [&] { run.set_arg(1, xrt::bo()); });
}

// A sync that fails brings nothing, so a read after it is early.
void find_reads_after_failed_syncs(Probe& probe) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  volatile int* const out = buffers.out.map<int*>();
  run_well(probe, buffers);
  bool has_failed = false;
  try {
    const tandem::CardFaults faults("sync 1 fail");
    buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  } catch (const std::exception&) {
    has_failed = true;
  }
  CHECK(has_failed);
  CHECK_EQ(take_report(), "");
  [[maybe_unused]] const int early = out[3];
  expect_one(take_report(), "missing_sync_from_device", "out", kThisFile, __LINE__ - 1);
}

// The handler of early reads leaves the signal alone where it comes from no access.
void end_by_a_sent_signal() {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(status != 0);
}

struct sigaction handler_of_checks {};

void hand_back(int signal, siginfo_t* info, void* context) {
  static int num_calls = 0;
  if (++num_calls > 1) _exit(0);
  handler_of_checks.sa_sigaction(signal, info, context);
}

// A program's handler that calls the one before it, which stands before it again after a run.
void end_by_a_handler_that_hands_back(Probe& probe) {
  struct sigaction mine {};
  mine.sa_sigaction = hand_back;
  mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  CHECK_EQ(sigaction(SIGSEGV, &mine, &handler_of_checks), 0);
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  run_well(probe, buffers);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  end_by_a_sent_signal();
  CHECK_EQ(sigaction(SIGSEGV, &handler_of_checks, nullptr), 0);
}

}  // namespace

void find_early_reads(Probe& probe) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  volatile int* const out = buffers.out.map<int*>();
  run_well(probe, buffers);
  [[maybe_unused]] const int early = out[3];
  expect_one(take_report(), "missing_sync_from_device", "out", kThisFile, __LINE__ - 1);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out[3], 4);
  CHECK_EQ(buffers.in.map<int*>()[3], 3);

  // What the program wrote since then is its own.
  run_well(probe, buffers);
  out[3] = 7;
  CHECK_EQ(out[3], 7);
  CHECK_EQ(take_report(), "");

  // A sync of a part.
  run_well(probe, buffers);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, kBytes / 2, 0);
  [[maybe_unused]] const int rest = out[kLast];
  expect_one(take_report(), "missing_sync_from_device", "out", kThisFile, __LINE__ - 1);
  run_well(probe, buffers);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, kBytes / 2, 0);
  CHECK_EQ(out[3], 4);
  CHECK_EQ(take_report(), "");

  // By a function of XRT: told at the next call.
  run_well(probe, buffers);
  int values[4];
  buffers.out.read(values, sizeof(values), kBytes - sizeof(values));
  const int library_line = __LINE__ - 1;
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  expect_one(take_report(), "missing_sync_from_device", "out", kThisFile, library_line);
  buffers.out.read(values, sizeof(values), kBytes - sizeof(values));
  CHECK_EQ(values[3], kCount);

  // A buffer that is freed unread leaves its memory open.
  run_well(probe, buffers);
  buffers.out = xrt::bo();
  CHECK_EQ(take_report(), "");

  find_reads_after_failed_syncs(probe);
  end_by_a_sent_signal();
  end_by_a_handler_that_hands_back(probe);
}

void find_bad_arguments(Probe& probe) {
  const auto set_rest = [](xrt::run& run) {
    run.set_arg(2, kCount);
    run.set_arg(3, 0);
  };
  expect_bad(probe, "", "", [&](xrt::run& run, Probe::Buffers&) { set_rest(run); });
  expect_bad(probe, "bug", "a run begins without this argument (3 of 4 are set)",
             [](xrt::run& run, Probe::Buffers&) { run.set_arg(2, kCount); });
  expect_bad(probe, "count", "it is set to a value of 2 bytes, and the kernel takes a value of 4",
             [](xrt::run& run, Probe::Buffers&) {
               run.set_arg(3, 0);
               run.set_arg(2, int16_t{1});
             });
  expect_bad(probe, "count", "it is set to a value of 8 bytes, and the kernel takes a value of 4",
             [](xrt::run& run, Probe::Buffers&) {
               run.set_arg(3, 0);
               run.set_arg(2, int64_t{kCount});
             });
  expect_bad(probe, "in", "it is set to a value of 4 bytes, and the kernel takes a pointer",
             [&](xrt::run& run, Probe::Buffers&) {
               set_rest(run);
               run.set_arg(0, 0);
             });
  expect_bad(probe, "bug", "the program sets it during the run",
             [&](xrt::run& run, Probe::Buffers& buffers) {
               set_rest(run);
               run.set_arg(2, kCount);
               run.set_arg(3, 9);  // runs until the first value is not 0
               run.start();
               run.set_arg(3, 0);
               buffers.in.map<int*>()[0] = 1;
               buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
               run.wait(kPatience);
             });
  find_refused_buffers(probe);
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  expect_refused("XRT refuses the argument 4 of a run",
                 [&] { probe.kernel(buffers.in, buffers.out, kCount, 0, 5); });
}

}  // namespace tandem::fpga_test
