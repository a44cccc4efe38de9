// SPDX-License-Identifier: Apache-2.0
//
// What a project tests of its own: kernels through XRT, on each card.
#include <experimental/xrt_bo.h>
#include <experimental/xrt_device.h>
#include <experimental/xrt_kernel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

constexpr int kCount = 1000;

class ScaleTest : public ::testing::TestWithParam<unsigned> {
 protected:
  xrt::device device{GetParam()};
  xrt::uuid uuid = device.load_xclbin(std::getenv("TANDEM_XCLBIN"));
};

TEST_P(ScaleTest, EveryValueIsScaled) {
  xrt::kernel kernel(device, uuid, "vscale");
  xrt::bo in(device, kCount * sizeof(int), kernel.group_id(0));
  xrt::bo out(device, kCount * sizeof(int), kernel.group_id(1));
  int* const values = in.map<int*>();
  std::iota(values, values + kCount, -500);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run run = kernel(in, out, kCount);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(out.map<int*>()[i], 3 * values[i]);
}

TEST_P(ScaleTest, AnOpenClKernelStartedNativelyShiftsOneValue) {
  xrt::kernel kernel(device, uuid, "vshift");
  xrt::bo data(device, 2 * sizeof(int), kernel.group_id(0));
  data.map<int*>()[0] = 40;
  data.map<int*>()[1] = 7;
  data.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::run run = kernel(data, 2);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  data.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(data.map<int*>()[0], 42);
  EXPECT_EQ(data.map<int*>()[1], 7);
}

INSTANTIATE_TEST_SUITE_P(Cards, ScaleTest, ::testing::Values(0u, 1u));

TEST(CardsTest, ThereAreNoMoreThanAskedFor) { EXPECT_ANY_THROW(xrt::device(2)); }

}  // namespace
