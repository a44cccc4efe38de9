// SPDX-License-Identifier: Apache-2.0
//
// A machine whose XRT environment is not set up: no cards, and an Error that says so.
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/error.h"
#include "xrt/backend.h"

namespace tandem::device {
namespace {

TEST(XrtBackend, ShowsNoCardsWithoutTheRuntime) {
  unsetenv("XILINX_XRT");
  EXPECT_TRUE(xrt_backend().enumerate({}).empty());
  EXPECT_THROW(xrt_backend().open(0, {}), Error);
}

}  // namespace
}  // namespace tandem::device
