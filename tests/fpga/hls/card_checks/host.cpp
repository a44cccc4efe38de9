// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of memory, buffers and syncs, each with its mended twin: the bug gives one line of
// the report with kind, argument, file and line, the twin gives none.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "drivers/emulation/faults/tandem_card_faults.h"
#include "probe.h"

using namespace tandem::fpga_test;

namespace {

void find_in_kernels(Probe& probe) {
  struct Bug {
    int number;
    const char* kind;
    const char* argument;
  };
  for (const Bug& bug : {Bug{1, "out_of_bounds", "in"}, Bug{2, "out_of_bounds", "out"},
                         Bug{3, "misaligned", "in"}, Bug{4, "local_out_of_bounds", ""},
                         Bug{5, "local_out_of_bounds", ""}, Bug{6, "uninitialised_local", ""}}) {
    auto buffers = probe.make();
    buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(take_report(), "");
    CHECK_EQ(probe.run(buffers, bug.number), ERT_CMD_STATE_COMPLETED);
    expect_one(take_report(), bug.kind, bug.argument, "kernel.cpp", marked_line(bug.number));
  }
}

void find_syncs(Probe& probe) {
  auto buffers = probe.make();
  CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
  expect_one(take_report(), "missing_sync_to_device", "in", "kernel.cpp", marked_line(0));
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
  buffers.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(buffers.out.map<int*>()[3], 4);
  CHECK_EQ(take_report(), "");
}

void find_buffers(Probe& probe) {
  auto buffers = probe.make();
  buffers.in = xrt::bo(probe.device, kBytes, probe.kernel.group_id(0));
  std::fill_n(buffers.in.map<int*>(), kCount, 0);
  CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
  const std::string unwritten = take_report();
  CHECK_EQ(count_of(unwritten, "{\"kind\": \"uninitialised_memory\""), 1);
  CHECK_EQ(count_of(unwritten, "\"argument\": \"in\""), 1);
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = xrt::run(probe.kernel);
  run.set_arg(0, buffers.in);
  run.set_arg(1, buffers.out);
  run.set_arg(2, kCount);
  run.set_arg(3, 0);
  run.start();
  run.wait(kPatience);
  CHECK_EQ(take_report(), "");
}

// A run of the kernel without a bug, whose first argument is a bare address.
std::string report_of_address(Probe& probe, uint64_t address) {
  auto buffers = probe.make();
  xrt::run run(probe.kernel);
  run.set_arg(0, address);
  run.set_arg(1, buffers.out);
  run.set_arg(2, kCount);
  run.set_arg(3, 0);
  run.start();
  run.wait(kPatience);
  return take_report();
}

void find_addresses(Probe& probe) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const uint64_t address = buffers.in.address();
  CHECK_EQ(report_of_address(probe, address), "");
  buffers.in = xrt::bo();
  const std::string freed = report_of_address(probe, address);
  CHECK_EQ(count_of(freed, "{\"kind\": \"use_after_free\""), 2);  // at the begin and in the kernel
  CHECK_EQ(count_of(freed, "\n"), 2);
  CHECK_EQ(count_of(freed, "kernel.cpp\", \"line\": " + std::to_string(marked_line(0)) + ","), 1);
  CHECK_EQ(count_of(freed, "host.cpp\", \"line\": "), 1);
  xrt::bo other(probe.device, kBytes, probe.kernel.group_id(1));
  other.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const std::string far = report_of_address(probe, other.address());
  CHECK_EQ(count_of(far, "\n"), 1);
  CHECK_EQ(count_of(far, "{\"kind\": \"wrong_bank\""), 1);
  CHECK_EQ(count_of(far, "\"argument\": \"in\""), 1);
  const std::string nowhere = report_of_address(probe, 64);
  CHECK_EQ(count_of(nowhere, "{\"kind\": \"bad_argument\""), 1);
}

// The report of a run whose buffer is freed while it waits for the program, or once it has ended.
std::string report_of_free(Probe& probe, bool early) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = probe.kernel(buffers.in, buffers.out, kCount, 9);
  while (run.state() < ERT_CMD_STATE_RUNNING) {
  }
  if (early) buffers.out = xrt::bo();
  buffers.in.map<int*>()[0] = 1;
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  CHECK_EQ(run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  buffers.out = xrt::bo();
  return take_report();
}

void find_early_frees(Probe& probe) {
  const std::string report = report_of_free(probe, true);
  CHECK_EQ(count_of(report, "\n"), 1);
  CHECK_EQ(count_of(report, "{\"kind\": \"use_after_free\""), 1);
  CHECK_EQ(count_of(report, "the program frees a buffer while a run uses it"), 1);
  CHECK_EQ(report_of_free(probe, false), "");
}

// With strict checks a finding fails its command, and the program that ends well ends with 3.
void find_strictly(const std::string& xclbin) {
  for (const int bug : {0, 1}) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("TANDEM_CHECKS", "strict", 1);
      Probe probe(xclbin);
      auto buffers = probe.make();
      buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      const ert_cmd_state wanted = bug == 0 ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR;
      std::exit(probe.run(buffers, bug) == wanted ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_EQ(status, W_EXITCODE(bug == 0 ? 0 : 3, 0));
    CHECK_EQ(count_of(take_report(), "\n"), bug);
  }
}

void find_races(Probe& probe) {
  xrt::kernel first(probe.device, probe.uuid, "fill:{fill_1}");
  xrt::kernel second(probe.device, probe.uuid, "fill:{fill_2}");
  xrt::bo out(probe.device, kBytes, first.group_id(0));
  const auto both = [&](int begin) {
    auto a = first(out, 0, kCount / 2, 1);
    auto b = second(out, begin, kCount / 2, 2);
    CHECK_EQ(a.wait(kPatience), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(b.wait(kPatience), ERT_CMD_STATE_COMPLETED);
    return take_report();
  };
  CHECK_EQ(both(kCount / 2), "");
  const std::string raced = both(0);
  CHECK_EQ(count_of(raced, "{\"kind\": \"race\""), 1);
  CHECK_EQ(count_of(raced, "kernel.cpp\", \"line\": " + std::to_string(marked_line(9))), 1);
}

// Stores behind the end of a buffer, up to the begin of the next one: the second half of them is
// closest to that one.
void find_the_way_to_the_next_buffer(Probe& probe) {
  xrt::kernel fill(probe.device, probe.uuid, "fill:{fill_1}");
  xrt::bo one(probe.device, kBytes, fill.group_id(0)),
      other(probe.device, kBytes, fill.group_id(0));
  const xrt::bo& lower = one.address() < other.address() ? one : other;
  const uint64_t begin = std::min(one.address(), other.address());
  const uint64_t distance = std::max(one.address(), other.address()) - begin;
  CHECK(distance >= kBytes + 8);
  auto run = fill(lower, 0, static_cast<int>(distance / sizeof(int)), 1);
  CHECK_EQ(run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  expect_one(take_report(), "out_of_bounds", "out", "kernel.cpp", marked_line(9));
}

// A unit shows the end of its kernel in its registers before the command ends: here for long.
void find_no_race_behind_registers(Probe& probe) {
  xrt::kernel first(probe.device, probe.uuid, "fill:{fill_1}",
                    xrt::kernel::cu_access_mode::exclusive);
  xrt::kernel second(probe.device, probe.uuid, "fill:{fill_2}");
  xrt::bo out(probe.device, kBytes, first.group_id(0));
  const tandem::CardFaults faults("launch 1 lost_interrupt");
  first.read_register(0);  // clears the bit of earlier runs
  auto a = first(out, 0, kCount, 1);
  while ((first.read_register(0) & 2) == 0) {
  }
  CHECK_EQ(second(out, 0, kCount, 2).wait(kPatience), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(a.abort(), ERT_CMD_STATE_ABORT);
  CHECK_EQ(take_report(), "");
}

// A card whose kernel crashed is over, so the division is the last one.
void find_ends(Probe& probe) {
  auto buffers = probe.make();
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  CHECK_EQ(probe.run(buffers, 8), ERT_CMD_STATE_ERROR);
  expect_one(take_report(), "never_ends", "", "kernel.cpp", marked_line(8));
  CHECK_EQ(probe.run(buffers, 0), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(take_report(), "");
  CHECK_EQ(probe.run(buffers, 7), ERT_CMD_STATE_ERROR);
  expect_one(take_report(), "division_by_zero", "", "kernel.cpp", marked_line(7));
}

void find_all(const Arguments& arguments) {
  take_report();
  find_strictly(arguments.xclbin);  // before this process has a card
  Probe probe(arguments.xclbin);
  find_in_kernels(probe);
  find_syncs(probe);
  find_early_reads(probe);
  find_buffers(probe);
  find_bad_arguments(probe);
  find_addresses(probe);
  find_early_frees(probe);
  find_races(probe);
  find_the_way_to_the_next_buffer(probe);
  find_no_race_behind_registers(probe);
  find_ends(probe);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, find_all); }
