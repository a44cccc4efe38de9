// SPDX-License-Identifier: Apache-2.0
//
// Exercises TANDEM_CARD_REPORT: each bug of a kernel gives the line that is due, which is there
// once the run has ended; a kernel without bugs gives none.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>

#include "application.h"
#include "taken_report.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 64;

void find_bugs(const Arguments& arguments) {
  xrt::device device(0);
  xrt::kernel trial(device, device.load_xclbin(arguments.xclbin), "trial");
  xrt::bo in(device, kCount * sizeof(int), trial.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), trial.group_id(1));
  std::fill_n(in.map<int*>(), kCount, 1);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const auto run = [&](int bug, ert_cmd_state state) {
    CHECK_EQ(trial(in, out, bug).wait(std::chrono::seconds(40)), state);
    return take_report();
  };
  take_report();
  CHECK_EQ(run(0, ERT_CMD_STATE_COMPLETED), "");

  const std::string crossed = run(1, ERT_CMD_STATE_ERROR);
  CHECK_EQ(count_of(crossed, "\n"), 1);
  CHECK_EQ(count_of(crossed,
                    "{\"kind\": \"deadlock\", \"severity\": \"error\", \"kernel\": "
                    "\"trial\", \"unit\": \"trial_1\""),
           1);
  CHECK_EQ(count_of(crossed, "kernel.cpp\", \"line\": 12"), 2);
  CHECK_EQ(count_of(crossed, "\"waits_for\": \"data\""), 2);

  const std::string beyond = run(2, ERT_CMD_STATE_ERROR);
  CHECK_EQ(count_of(beyond, "\n"), 1);
  CHECK_EQ(count_of(beyond, "{\"kind\": \"read_empty\", \"severity\": \"error\""), 1);
  CHECK_EQ(count_of(beyond, "kernel.cpp\", \"line\": 23, \"message\""), 1);

  const std::string shallow = run(3, ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(count_of(shallow, "\n"), 1);
  CHECK_EQ(count_of(shallow, "{\"kind\": \"deadlock\", \"severity\": \"warning\""), 1);
  CHECK_EQ(count_of(shallow, "\"depths_needed\": {\"head\": 64}"), 1);

  const std::string left = run(4, ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(count_of(left, "\n"), 1);
  CHECK_EQ(count_of(left, "{\"kind\": \"leftover_tokens\", \"severity\": \"warning\""), 1);
  CHECK_EQ(count_of(left, "\"stream\": \"head\", \"held\": 2}"), 1);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, find_bugs); }
