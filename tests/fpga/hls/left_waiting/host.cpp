// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a program whose wait for a kernel ended by its time limit, and that ends before the
// kernel does, is told which stream the kernel waits for; so is one that waits only for the kernel
// beside it. One that tries again is told nothing, nor one whose kernel has all its values and is
// about to end. A wait for a kernel whose values nobody can read yet is a deadlock on hardware; a
// look at its state is none. Values that are left in the link when the program ends are told, but
// not if only the bitstream before had a reader that ran.
#include <xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "application.h"
#include "taken_report.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

constexpr int kCount = 100;
constexpr int kSteps = 2'000'000;  // some milliseconds of the two seconds that it may take

// What the program does after its wait for `take` ended by the time limit.
enum class Then { kEnds, kEndsWithoutWait, kGivesAndWaits, kSyncsGivesAndWaits, kGivesAndEnds };

// A few values that `take` does not read.
void give_only(const xrt::device& device, const xrt::uuid& uuid) {
  CHECK_EQ(xrt::kernel(device, uuid, "give")(3, 0).wait(20s), ERT_CMD_STATE_COMPLETED);
}

// The same kernels as a bitstream of another name.
xrt::xclbin renamed(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  reinterpret_cast<axlf*>(bytes.data())->m_header.uuid[0] ^= 1;
  return xrt::xclbin(bytes);
}

void run_fewer(xrt::device& device, const xrt::uuid& uuid, int taken) {
  xrt::kernel give(device, uuid, "give"), take(device, uuid, "take");
  xrt::bo out(device, kCount * sizeof(int), take.group_id(0));
  xrt::run taking = take(out, taken, 0), giving = give(kCount, 0);
  CHECK_EQ(taking.wait(20s), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
}
void run_fewer(const std::string& xclbin, int taken) {
  xrt::device device(0);
  run_fewer(device, device.load_xclbin(xclbin), taken);
}

// That `take` ran in the bitstream before says nothing of this one.
void load_another(const std::string& xclbin) {
  xrt::device device(0);
  run_fewer(device, device.load_xclbin(xclbin), kCount);
  give_only(device, device.load_xclbin(renamed(xclbin)));
}

void run_once(const std::string& xclbin, Then then) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel give(device, uuid, "give"), take(device, uuid, "take");
  xrt::bo out(device, kCount * sizeof(int), take.group_id(0));
  xrt::run taking(take), giving(give);
  taking.set_arg(0, out);
  taking.set_arg(1, kCount);
  taking.set_arg(2, then == Then::kGivesAndEnds ? kSteps : 0);
  giving.set_arg(0, kCount / 2);
  giving.set_arg(1, 0);
  taking.start();
  giving.start();
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
  if (then == Then::kEndsWithoutWait) return;
  CHECK_EQ(taking.wait(50ms), ERT_CMD_STATE_TIMEOUT);
  if (then == Then::kSyncsGivesAndWaits) out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  if (then == Then::kEnds) return;
  giving.start();
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
  if (then == Then::kGivesAndEnds) return;
  CHECK_EQ(taking.wait(20s), ERT_CMD_STATE_COMPLETED);
}

// The program waits for `give` before it starts `take`, in this thread or in another one; or it
// looks at the state of `give` only.
enum class Order { kTakeFirst, kGiveFirst, kOtherThread, kNever, kLook };

void run_in_order(const std::string& xclbin, Order order, int count) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(xclbin);
  xrt::kernel give(device, uuid, "give"), take(device, uuid, "take");
  xrt::bo out(device, kCount * sizeof(int), take.group_id(0));
  xrt::run taking(take), giving(give);
  taking.set_arg(0, out);
  taking.set_arg(1, count);
  taking.set_arg(2, 0);
  giving.set_arg(0, count);
  giving.set_arg(1, 0);
  if (order == Order::kTakeFirst) taking.start();
  giving.start();
  while (order == Order::kLook && giving.state() != ERT_CMD_STATE_COMPLETED) {
  }
  if (order == Order::kLook) taking.start();
  CHECK_EQ(giving.wait(20s), ERT_CMD_STATE_COMPLETED);
  if (order == Order::kNever) return;
  if (order == Order::kGiveFirst) taking.start();
  if (order == Order::kOtherThread) std::thread([&] { taking.start(); }).join();
  CHECK_EQ(taking.wait(20s), ERT_CMD_STATE_COMPLETED);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void wait_before_start(const std::string& xclbin) {
  run_in_order(xclbin, Order::kTakeFirst, kCount);
  run_in_order(xclbin, Order::kOtherThread, kCount);
  run_in_order(xclbin, Order::kLook, kCount);
  run_in_order(xclbin, Order::kGiveFirst, 10);  // they fit on hardware too
  CHECK_EQ(take_report(), "");
  for (const Order order : {Order::kGiveFirst, Order::kNever}) {
    run_in_order(xclbin, order, order == Order::kNever ? kCount - 1 : kCount);
    const std::string report = take_report();
    const std::string held = order == Order::kNever ? "99" : "100";
    CHECK_EQ(count_of(report, "\n"), 1);
    CHECK(
        holds(report, "{\"kind\": \"deadlock\", \"severity\": \"warning\", \"kernel\": \"give\""));
    CHECK(holds(report, "while unit 'take_1', which reads stream"));
    CHECK(
        holds(report, "\"cycle\": [{\"unit\": \"give_1\", \"process\": \"give_1\", \"stream\": "));
    CHECK(holds(report, "\"waits_for\": \"space\", \"held\": " + held + ", \"depth\": 0, "));
    CHECK(holds(report, "\"depths_needed\": {\"give_1.out->take_1.in\": " + held + "}"));
  }
}

void left_waiting(const Arguments& arguments) {
  take_report();
  wait_before_start(arguments.xclbin);
  run_once(arguments.xclbin, Then::kGivesAndWaits);
  CHECK_EQ(take_report(), "");

  run_once(arguments.xclbin, Then::kEnds);
  const std::string left = take_report();
  CHECK(holds(left, "\"kind\": \"never_ends\", \"severity\": \"warning\", \"kernel\": \"take\""));
  CHECK(holds(left, "it waits: process 'take_1' waits for data in stream 'give_1.out->take_1.in'"));
  CHECK(!holds(left, "missing_wait"));

  run_once(arguments.xclbin, Then::kEndsWithoutWait);
  const std::string unwaited = take_report();
  CHECK(
      holds(unwaited, "\"kind\": \"never_ends\", \"severity\": \"warning\", \"kernel\": \"take\""));
  CHECK(
      holds(unwaited, "the program never waits for this run, and the kernel still runs; it waits"));

  run_once(arguments.xclbin, Then::kSyncsGivesAndWaits);
  const std::string early = take_report();
  CHECK(holds(early, "\"kind\": \"missing_wait\""));
  CHECK(holds(early, "ended by the time limit"));
  CHECK(!holds(early, "never_ends"));

  run_once(arguments.xclbin, Then::kGivesAndEnds);
  CHECK_EQ(take_report(), "");

  run_fewer(arguments.xclbin, kCount);
  CHECK_EQ(take_report(), "");
  run_fewer(arguments.xclbin, kCount - 3);
  const std::string kept = take_report();
  CHECK(holds(kept,
              "\"kind\": \"leftover_tokens\", \"severity\": \"warning\", \"kernel\": \"give\""));
  CHECK(holds(kept, "\"argument\": \"out\""));
  CHECK(holds(kept, "ends with 3 values that nobody read; the runs are over, and unit 'take_1'"));
  CHECK(holds(kept, "\"held\": 3"));

  load_another(arguments.xclbin);
  CHECK_EQ(take_report(), "");
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, left_waiting); }
