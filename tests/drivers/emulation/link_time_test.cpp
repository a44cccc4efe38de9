// SPDX-License-Identifier: Apache-2.0
//
// The link's modelled time beside public measurements.
#include "emulation/protocol/link_time.h"

#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

double mb_per_s(const HostLink& link, bool to_device, double bytes) {
  return bytes / link_time(link, to_device, bytes).us;
}

// xbutil's dma test, blocks of 16 MB: 8,485 to 11,009 to the card, 11,801 to 12,164 back; blocks of
// 4 KB on U50: 666 to 738 and 768 to 865.
TEST(LinkTime, IsThatOfTheNativeInterface) {
  const HostLink link;
  EXPECT_NEAR(mb_per_s(link, true, 16 << 20), 10'000, 100);
  EXPECT_NEAR(mb_per_s(link, false, 16 << 20), 12'060, 100);
  EXPECT_NEAR(mb_per_s(link, true, 4096), 700, 40);
  EXPECT_NEAR(mb_per_s(link, false, 4096), 816, 60);
}

// host_global_bandwidth on U200, OpenCL.
TEST(LinkTime, IsThatOfOpenCl) {
  HostLink link;
  link.is_opencl = true;
  EXPECT_NEAR(mb_per_s(link, true, 64), 4.70, 0.2);
  EXPECT_NEAR(mb_per_s(link, true, 16 << 10), 1169, 130);  // the worst of the fit
  EXPECT_NEAR(mb_per_s(link, true, 256 << 20), 7432, 80);
  EXPECT_NEAR(mb_per_s(link, false, 256 << 20), 12112, 80);
}

TEST(LinkTime, HasARangeThatHoldsTheCards) {
  const LinkTime time = link_time({}, true, 16 << 20);
  EXPECT_LT((16 << 20) / time.us_high, 8'600);
  EXPECT_GT((16 << 20) / time.us_low, 10'900);
  EXPECT_LT(time.us_low, time.us);
  EXPECT_LT(time.us, time.us_high);
}

TEST(LinkTime, FollowsLanesAndGeneration) {
  const double bytes = 1 << 30;
  const double wide = link_time({3, 16}, true, bytes).us;
  EXPECT_NEAR(link_time({4, 8}, true, bytes).us, wide, 0.001 * wide);
  EXPECT_NEAR(link_time({4, 16}, true, bytes).us, wide / 2, 0.001 * wide);
  EXPECT_NEAR(link_time({3, 4}, true, bytes).us, wide * 4, 0.004 * wide);
  EXPECT_NEAR(link_time({1, 16}, true, bytes).us, wide * 4, 0.004 * wide);
}

}  // namespace
}  // namespace tandem::emulation
