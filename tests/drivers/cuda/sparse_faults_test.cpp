// SPDX-License-Identifier: Apache-2.0
//
// A GPU lost under a sparse unit, alone and while it shares rows, over the interpreter.
#include <gmock/gmock.h>

#include <chrono>

#include "common/error.h"
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "device/device.h"
#include "gpu_kernels/simt/faults.h"
#include "sparse_rows.h"

namespace tandem::device_test {
namespace {

using device::SparsePart;
using device::SparseUnit;

// Gives a unit fixed rates, so that the division does not depend on times.
class WithRates final : public SparseUnit {
 public:
  explicit WithRates(std::unique_ptr<SparseUnit> unit) : unit_(std::move(unit)) {}
  std::string name() const override { return unit_->name(); }
  device::SparseRates rates(const device::SparseRows&, Deadline) override {
    return {0, 1, 1, false};
  }
  void load(const device::SparseRows& rows, Deadline deadline) override {
    unit_->load(rows, deadline);
  }
  void start(std::span<const float> x, Deadline deadline) override { unit_->start(x, deadline); }
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override {
    return unit_->finish(y, deadline);
  }
  void on_host(const device::SparseRows& rows, std::span<const float> x,
               std::span<float> y) const override {
    unit_->on_host(rows, x, y);
  }

 private:
  std::unique_ptr<SparseUnit> unit_;
};

class SparseFaultsTest : public testing::Test {
 protected:
  SparseFaultsTest() : cpu_(device::cpu_backend().open(0, {.num_threads = 1})) {}
  ~SparseFaultsTest() override { simt::clear_faults(); }

  static Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }
  std::unique_ptr<SparseUnit> gpu_unit() {
    device_ = nullptr;
    device_ = device::cuda_backend().open(0, {});
    return make_sparse_unit(*device_);
  }
  // The GPU works in the caller's thread, where the interpreter runs.
  std::unique_ptr<SparseUnit> shared() {
    std::vector<std::unique_ptr<SparseUnit>> units;
    units.push_back(std::make_unique<WithRates>(gpu_unit()));
    units.push_back(std::make_unique<WithRates>(make_sparse_unit(*cpu_)));
    return share_sparse_rows(std::move(units));
  }
  static std::vector<float> product(SparseUnit& unit, const RandomRows& matrix) {
    std::vector<float> y(matrix.begins.size() - 1, -1.0f);
    unit.start(matrix.x, soon());
    unit.finish(y, soon());
    return y;
  }

  std::unique_ptr<device::Device> cpu_, device_;
};

TEST_F(SparseFaultsTest, AUnitWhoseGpuIsLostInAnyPieceOfWorkFailsForGood) {
  const RandomRows matrix(10, 8, 5);
  for (int work = 1;; ++work) {
    auto unit = gpu_unit();
    simt::set_faults({.lose_at_work = work});
    bool failed = false;
    try {
      unit->load(matrix.rows(), soon());
      product(*unit, matrix);
    } catch (const DeviceError&) {
      failed = true;
    }
    simt::clear_faults();
    if (!failed) {
      EXPECT_GT(work, 6) << "three arrays, x, the kernel, y";
      return;
    }
    EXPECT_THROW(unit->load(matrix.rows(), soon()), DeviceError) << work;
    EXPECT_THROW(product(*unit, matrix), DeviceError) << work;
  }
}

// Any of the seven arrays.
TEST_F(SparseFaultsTest, AUnitThatIsShortOfMemoryStaysInUse) {
  const RandomRows matrix(10, 8, 5);
  for (int allocation = 1; allocation <= 7; ++allocation) {
    auto unit = gpu_unit();
    simt::set_faults({.out_of_memory_at = allocation});
    EXPECT_THROW(unit->load(matrix.rows(), soon()), device::SparseRoomError) << allocation;
    unit->load(matrix.rows(), soon());
    matrix.expect_product(product(*unit, matrix));
    simt::clear_faults();
  }
}

TEST_F(SparseFaultsTest, AGpuLostWhileItTakesMemoryIsNotShortOfIt) {
  const RandomRows matrix(10, 8, 5);
  auto unit = gpu_unit();
  simt::set_faults({.lose_at_work = 1});
  EXPECT_THROW(unit->load(matrix.rows(), soon()), DeviceError);
  auto other = std::make_unique<RandomRows>(90, 80, 50);
  EXPECT_THROW(unit->load(other->rows(), soon()), DeviceError);
  simt::clear_faults();
}

TEST_F(SparseFaultsTest, AGpuThatIsShortOfMemoryGetsFewerRows) {
  const RandomRows matrix(60, 300, 150);
  auto unit = shared();
  simt::set_faults({.out_of_memory_at = 2});
  unit->load(matrix.rows(), soon());
  simt::clear_faults();
  std::vector<float> y(60, -1.0f);
  unit->start(matrix.x, soon());
  const std::vector<SparsePart> parts = unit->finish(y, soon());
  matrix.expect_product(y);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_LT(parts[0].last_row, 20u) << "half of a half";
  EXPECT_GT(parts[0].last_row, 0u);
  EXPECT_EQ(parts[0].host_reason + parts[1].host_reason, "");
}

// The bits of a product do not tell whether a GPU was lost in it.
TEST_F(SparseFaultsTest, TheRestOfTheDevicesFinishesWithTheSameBits) {
  const RandomRows matrix(60, 300, 150);
  auto whole = shared();
  whole->load(matrix.rows(), soon());
  const std::vector<float> want = product(*whole, matrix);
  matrix.expect_product(want);
  whole.reset();
  for (int work = 1;; ++work) {
    auto unit = shared();
    unit->load(matrix.rows(), soon());
    simt::set_faults({.lose_at_work = work});
    EXPECT_EQ(product(*unit, matrix), want) << work;
    EXPECT_EQ(product(*unit, matrix), want) << work << ", once more";
    const bool lost = simt::lost();
    simt::clear_faults();
    if (!lost) break;
    EXPECT_EQ(product(*unit, matrix), want) << "the GPU stays lost for this unit";
    unit->load(matrix.rows(), soon());
    matrix.expect_product(product(*unit, matrix));
    ASSERT_LT(work, 20);
  }
}

}  // namespace
}  // namespace tandem::device_test
