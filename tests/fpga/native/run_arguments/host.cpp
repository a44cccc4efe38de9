// SPDX-License-Identifier: Apache-2.0
//
// Exercises: arguments of every type and size, by index, by name, all at once and as raw bytes;
// restarts with one argument changed; update_arg(); wrong indices, names and sizes.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

struct Quad {
  int64_t first;
  float second;
  uint16_t third;
  int8_t fourth;
};

constexpr Quad kQuad = {-7, 0.5F, 65000, -128};
constexpr double kExpected[] = {-100, 1,  60000, -2000000000, -5e12, 1.25,
                                -0.1, -7, 0.5,   65000,       -128,  1e15};

void compare(xrt::bo& out, const double* expected) {
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int i = 0; i < 12; ++i) CHECK_EQ(out.map<double*>()[i], expected[i]);
  std::fill_n(out.map<double*>(), 12, 0.0);
  out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
}

void all_at_once(xrt::kernel& show, xrt::bo& out) {
  auto run = show(int8_t{-100}, true, uint16_t{60000}, int32_t{-2000000000},
                  int64_t{-5000000000000}, 1.25F, -0.1, kQuad, out, uint64_t{1000000000000000});
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  compare(out, kExpected);
}

void one_by_one(xrt::kernel& show, xrt::bo& out) {
  xrt::run run(show);
  run.set_arg(9, uint64_t{1000000000000000});
  run.set_arg("out", out);
  run.set_arg("quad", kQuad);
  run.set_arg(6, -0.1);
  run.set_arg("real", 1.25F);
  const int64_t wide = -5000000000000;
  run.set_arg(4, static_cast<const void*>(&wide), sizeof(wide));
  run.set_arg("word", int32_t{-2000000000});
  run.set_arg(2, uint16_t{60000});
  run.set_arg(1, true);
  run.set_arg("byte", int8_t{-100});
  run.start();
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  compare(out, kExpected);

  double expected[12];
  std::copy_n(kExpected, 12, expected);
  for (int again = 0; again < 5; ++again) {
    run.set_arg(3, again);
    expected[3] = again;
    run.start();
    CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
    compare(out, expected);
  }
  run.update_arg(3, 77777);
  expected[3] = 77777;
  run.start();
  run.wait();
  compare(out, expected);
}

void mistakes(xrt::kernel& show, xrt::bo& out) {
  xrt::run run(show);
  CHECK_THROWS(run.set_arg(10, 1));
  CHECK_THROWS(run.set_arg(-1, 1));
  CHECK_THROWS(run.set_arg("no_such_argument", 1));
  CHECK_THROWS(
      show(int8_t{1}, true, uint16_t{1}, 1, int64_t{1}, 1.0F, 1.0, kQuad, out, uint64_t{1}, 5));
  // A value larger than its argument does not spill into the next.
  run.set_arg(9, uint64_t{8});
  run.set_arg(8, out);
  run.set_arg(7, kQuad);
  run.set_arg(6, 2.0);
  for (int index = 1; index < 6; ++index) run.set_arg(index, int64_t{0});
  run.set_arg(0, uint64_t{0x7777777777777701});
  run.start();
  CHECK_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  const double expected[] = {1, 0, 0, 0, 0, 0, 2, -7, 0.5, 65000, -128, 8};
  compare(out, expected);
}

void set(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel show(device, uuid, "show");
  xrt::bo out(device, 4096, show.group_id(8));
  all_at_once(show, out);
  one_by_one(show, out);
  mistakes(show, out);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, set); }
