// SPDX-License-Identifier: Apache-2.0
//
// Full memory and a lost GPU under a stencil unit, over the interpreter; a machine without a GPU.
#include <gmock/gmock.h>

#include <chrono>

#include "common/error.h"
#include "device/stencil_unit.h"
#include "gpu_kernels/simt/faults.h"

namespace tandem::device {
namespace {

class StencilFaultsTest : public testing::Test {
 protected:
  ~StencilFaultsTest() override { simt::clear_faults(); }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }
  static std::unique_ptr<StencilUnit> opened() {
    return open_stencil_unit("cuda:0", {{tiling::box_of<3>({2, 2, 2})}, 1, 3});
  }
  // Every kind of call.
  static void use(StencilUnit& unit) {
    std::vector<double> cells(64, 1);
    unit.write(0, 0, cells, soon());
    const tiling::CopyPiece<3> piece{0, 0, {{-1, 0, 0}, {0, 2, 2}}, {2, 0, 0}};
    unit.copy_ghosts(0, {&piece, 1});
    unit.run({});
    unit.triad(2, 0, 1);
    unit.wait(soon());
    unit.read(1, 0, cells, soon());
  }
};

TEST_F(StencilFaultsTest, AFullDeviceIsADeviceError) {
  for (const int allocation : {1, 2}) {
    simt::set_faults({.out_of_memory_at = allocation});
    EXPECT_THROW(opened(), DeviceError) << allocation;
    simt::clear_faults();
  }
  use(*opened());
}

TEST_F(StencilFaultsTest, AUnitWhoseGpuIsLostInAnyPieceOfWorkFailsForGood) {
  for (int work = 1;; ++work) {
    const auto unit = opened();
    simt::set_faults({.lose_at_work = work});
    bool failed = false;
    try {
      use(*unit);
    } catch (const DeviceError&) {
      failed = true;
    }
    simt::clear_faults();
    if (!failed) {
      EXPECT_GT(work, 7);
      return;
    }
    EXPECT_THROW(unit->triad(2, 0, 1), DeviceError) << work;
    EXPECT_THROW(unit->wait(soon()), DeviceError) << work;
  }
}

TEST_F(StencilFaultsTest, AMachineWithoutADriverSaysWhatToInstall) {
  simt::set_faults({.driver_version = 0});
  try {
    opened();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no NVIDIA driver is installed"));
  }
}

}  // namespace
}  // namespace tandem::device
