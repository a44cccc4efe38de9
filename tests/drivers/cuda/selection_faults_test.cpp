// SPDX-License-Identifier: Apache-2.0
//
// Full memory, a lost GPU and deadlines under a selection unit, over the interpreter.
#include <gmock/gmock.h>

#include <chrono>

#include "common/error.h"
#include "cuda/backend.h"
#include "device/selection_unit.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/sparse/gradient_values.h"

namespace tandem::device {
namespace {

using gpu_kernels::gradient_values;
using gpu_kernels::Values;

constexpr std::size_t kSize = 20'000;

class SelectionFaultsTest : public testing::Test {
 protected:
  ~SelectionFaultsTest() override { simt::clear_faults(); }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }
  GradientView gradient() const { return {std::as_bytes(std::span(gradient_)), {}, {}}; }

  // Every kind of call.
  void use(SelectionUnit& unit, Deadline deadline) {
    const std::vector<std::uint32_t> places = {1, 5, 19'999};
    const std::vector<float> values = {1, 2, 3};
    unit.accumulate(gradient(), {}, deadline);
    unit.moments_at_least({0, kSize}, 0.01f, true, deadline);
    unit.counts_at_least({0, kSize}, values, deadline);
    unit.at_least({0, kSize}, 0, deadline);
    unit.top({0, kSize}, 10, deadline);
    unit.values_at(places, deadline);
    unit.clear_at(places, deadline);
    unit.add_at(places, values, deadline);
    unit.squares(std::vector<SelectionRange>{{0, 5}, {0, kSize}}, deadline);
    unit.pack_chunks(40, 30, deadline);
    std::vector<float> residual(kSize);
    unit.save({residual, {}}, deadline);
    unit.load({residual, {}}, deadline);
  }

  std::vector<float> gradient_ = gradient_values(Values::kLaplace, kSize, 1);
  std::unique_ptr<Device> device_ = cuda_backend().open(0, {});
};

TEST_F(SelectionFaultsTest, AFullDeviceIsADeviceErrorThatLeavesTheUnitUsable) {
  for (int allocation = 1;; ++allocation) {
    const auto unit = device_->make_selection_unit({kSize, false});
    simt::set_faults({.out_of_memory_at = allocation});
    bool failed = false;
    try {
      use(*unit, soon());
    } catch (const DeviceError& error) {
      failed = true;
      EXPECT_THAT(error.what(), testing::HasSubstr("memory"));
    }
    simt::clear_faults();
    use(*unit, soon());
    if (!failed) {
      EXPECT_GT(allocation, 4);
      return;
    }
  }
}

TEST_F(SelectionFaultsTest, AUnitWhoseGpuIsLostInAnyPieceOfWorkFailsForGood) {
  for (int work = 1;; ++work) {
    const auto unit = device_->make_selection_unit({kSize, false});
    simt::set_faults({.lose_at_work = work});
    bool failed = false;
    try {
      use(*unit, soon());
    } catch (const DeviceError&) {
      failed = true;
    }
    simt::clear_faults();
    if (!failed) {
      EXPECT_GT(work, 30);
      return;
    }
    EXPECT_THROW(unit->accumulate(gradient(), {}, soon()), DeviceError);
  }
}

TEST_F(SelectionFaultsTest, AMissedDeadlineLosesTheUnit) {
  const auto unit = device_->make_selection_unit({kSize, false});
  EXPECT_THROW(unit->accumulate(gradient(), {}, Deadline(Deadline::Clock::time_point{})),
               DeviceError);
  EXPECT_THROW(unit->accumulate(gradient(), {}, soon()), DeviceError);
}

TEST_F(SelectionFaultsTest, AGradientMemoryWhoseGpuIsLostFailsForGood) {
  std::vector<float> values(kSize);
  const auto bytes = std::as_writable_bytes(std::span(values));
  const auto use_memory = [&](GradientMemory& memory) {
    memory.measure(gradient(), soon());
    memory.put({bytes, DType::kF32, {}}, std::vector<std::uint32_t>{3}, std::vector<float>{1},
               soon());
    memory.write(gradient().values, bytes, {}, soon());
    memory.read(gradient().values, {}, bytes, soon());
  };
  for (int work = 1;; ++work) {
    const auto memory = device_->make_gradient_memory();
    simt::set_faults({.lose_at_work = work});
    bool failed = false;
    try {
      use_memory(*memory);
    } catch (const DeviceError&) {
      failed = true;
    }
    simt::clear_faults();
    if (!failed) {
      EXPECT_GT(work, 6);
      return;
    }
    EXPECT_THROW(memory->measure(gradient(), soon()), DeviceError);
  }
}

}  // namespace
}  // namespace tandem::device
