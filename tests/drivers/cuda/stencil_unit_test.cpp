// SPDX-License-Identifier: Apache-2.0
//
// Stencils on a GPU: the bits of the CPU over boxes, wrong arguments, a lost device.
#include "device/stencil_unit.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <functional>

#include "apps/collectives/stencil/device_stencil.h"
#include "common/error.h"
#include "cuda/backend.h"

namespace tandem::device {
namespace {

using testing::HasSubstr;
using tiling::Box;
using tiling::StencilKind;
using tiling::StencilOptions;
using tiling::StencilSolver;

Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

class StencilUnitTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_backend().enumerate({}).empty()) return;
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    const std::string reason = "no GPU: " + cuda_backend().unavailable_reason();
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << reason;
    }
    GTEST_SKIP() << reason;
  }
};

StencilOptions options_of(std::int64_t boxes) {
  StencilOptions options;
  options.cells = 13;
  options.boxes_per_rank = boxes;
  return options;
}

std::uint64_t checksum_on_cpu(StencilKind kind, int steps) {
  ThreadPool pool({1, Pin::kOff});
  StencilSolver solver(kind, options_of(1), nullptr, pool);
  for (int step = 0; step < steps; ++step) solver.run_step();
  return solver.checksum();
}

TEST_F(StencilUnitTest, LeavesTheBitsOfACpuWithFusedMultiplyAddForAnyBoxes) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this CPU has no fused multiply-add";
  ThreadPool pool({2, Pin::kOff});
  for (const StencilKind kind : {StencilKind::kHeat, StencilKind::kJacobi, StencilKind::kRk3}) {
    for (const std::int64_t boxes : {1, 3}) {
      apps::DeviceStencil stencil(kind, options_of(boxes), "cuda", std::chrono::seconds(60), pool);
      EXPECT_EQ(stencil.checksum(), checksum_on_cpu(kind, 0));
      stencil.run_step();
      stencil.run_step();
      EXPECT_EQ(stencil.checksum(), checksum_on_cpu(kind, 2)) << boxes;
      stencil.triad();
      stencil.wait();
      stencil.reset();
      stencil.run_step();
      EXPECT_EQ(stencil.checksum(), checksum_on_cpu(kind, 1)) << "after the triad and a reset";
    }
  }
}

TEST_F(StencilUnitTest, TheTriadReadsAndWritesThreeFields) {
  const StencilFields fields{{tiling::box_of<3>({1, 2, 16})}, 0, 3};
  const auto unit = open_stencil_unit("cuda:0", fields);
  EXPECT_EQ(unit->name(), "cuda:0");
  EXPECT_EQ(unit->triad_bytes(), 3 * 8 * 32);
  const std::vector<double> b(32, 2), c(32, 5);
  std::vector<double> a(32, 0);
  unit->write(0, 0, a, soon());
  unit->write(1, 0, b, soon());
  unit->write(2, 0, c, soon());
  unit->triad(0, 1, 2);
  unit->read(0, 0, a, soon());
  EXPECT_EQ(a, std::vector<double>(32, 17));
}

TEST_F(StencilUnitTest, RefusesWhatDoesNotFit) {
  const Box<3> box = tiling::box_of<3>({2, 2, 2});
  const auto unit = open_stencil_unit("cuda:0", {{box}, 1, 2});
  std::vector<double> cells(64), few(63);
  EXPECT_THAT(error_of([&] { unit->write(2, 0, cells, soon()); }), HasSubstr("no field 2"));
  EXPECT_THAT(error_of([&] { unit->read(0, 1, cells, soon()); }), HasSubstr("no box 1"));
  EXPECT_THAT(error_of([&] { unit->write(0, 0, few, soon()); }),
              HasSubstr("has 64 cells, and 63 are given"));
  EXPECT_THAT(error_of([&] { unit->triad(0, 1, 2); }), HasSubstr("no field 2"));
  StencilStage stage;
  stage.out = 0;
  EXPECT_THAT(error_of([&] { unit->run(stage); }), HasSubstr("cannot write what it reads"));
  stage.out = 5;
  EXPECT_THAT(error_of([&] { unit->run(stage); }), HasSubstr("no field 5"));
  stage.out = 1;
  stage.rule = StencilRule::kAdvection;
  EXPECT_THAT(error_of([&] { unit->run(stage); }),
              HasSubstr("reads 4 ghost cells, and the fields have 1"));
  stage.base = 7;
  EXPECT_THAT(error_of([&] { unit->run(stage); }), HasSubstr("no field 7"));
  stage.rule = StencilRule::kJacobi;
  stage.base = kNoField;
  EXPECT_THAT(error_of([&] { unit->run(stage); }), HasSubstr("no field"));
  const std::string nowhere = "that no box has";
  for (const tiling::CopyPiece<3>& piece :
       {tiling::CopyPiece<3>{1, 0, box, {}}, tiling::CopyPiece<3>{0, 1, box, {}},
        tiling::CopyPiece<3>{0, 0, box, {0, 0, 2}}, tiling::CopyPiece<3>{0, 0, box.grown(2), {}}}) {
    EXPECT_THAT(error_of([&] { unit->copy_ghosts(0, {&piece, 1}); }), HasSubstr(nowhere));
  }
  unit->write(0, 0, cells, soon());  // it is still there
}

TEST_F(StencilUnitTest, AGpuThatIsNotThereIsNamed) {
  const auto absent = [&] { open_stencil_unit("cuda:99", {}); };
  EXPECT_THAT(error_of(absent), HasSubstr("there is no device cuda:99"));
}

TEST(StencilDevices, AreGpus) {
  for (const char* id : {"cpu", "xrt:0", "cuda:x", "cuda:-1", "cuda:0+cuda:1", ""}) {
    EXPECT_THAT(error_of([&] { open_stencil_unit(id, {}); }), HasSubstr("runs no stencils")) << id;
  }
}

}  // namespace
}  // namespace tandem::device
