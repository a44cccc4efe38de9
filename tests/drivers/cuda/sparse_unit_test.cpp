// SPDX-License-Identifier: Apache-2.0
//
// Sparse products on a GPU: sums within their bound and with the bits of on_host(), matrices that
// follow one another, rows shared with the CPU. Needs a GPU: skips without one, and fails for it
// under TANDEM_TEST_REQUIRE=cuda.
#include "device/sparse_unit.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "common/error.h"
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "device/device.h"
#include "sparse_rows.h"

namespace tandem::device_test {
namespace {

using device::SparsePart;
using device::SparseUnit;

Deadline soon() { return Deadline::after(std::chrono::seconds(120)); }

class CudaSparseTest : public testing::Test {
 protected:
  void SetUp() override {
    const device::Backend& backend = device::cuda_backend();
    if (!backend.enumerate({}).empty()) {
      device_ = backend.open(0, {});
      unit_ = make_sparse_unit(*device_);
      return;
    }
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    const std::string reason = "no GPU: " + backend.unavailable_reason();
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << reason;
    }
    GTEST_SKIP() << reason;
  }

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<SparseUnit> unit_;
};

// Loads the rows, multiplies twice, and compares with sums in f64 and with the host's bits.
void expect_products(SparseUnit& unit, const RandomRows& matrix, std::uint64_t first,
                     std::uint64_t last) {
  const device::SparseRows rows = matrix.rows().slice(first, last);
  unit.load(rows, soon());
  std::vector<float> hosted(last - first, 7.0f);
  unit.on_host(rows, matrix.x, hosted);
  for (int product = 0; product < 2; ++product) {
    std::vector<float> y(last - first, -1.0f);
    unit.start(matrix.x, soon());
    const std::vector<SparsePart> parts = unit.finish(y, soon());
    matrix.expect_product(y, first);
    EXPECT_EQ(y, hosted);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].device, "cuda:0");
    EXPECT_EQ(parts[0].last_row, last - first);
    EXPECT_EQ(parts[0].entries, rows.entries());
    EXPECT_FALSE(parts[0].is_modelled);
    EXPECT_GT(parts[0].host_s, 0);
  }
}

TEST_F(CudaSparseTest, MultipliesMatricesThatFollowOneAnother) {
  EXPECT_EQ(unit_->name(), "cuda:0");
  const RandomRows large(300, 700, 200), small(5, 3, 2), middle(120, 90, 40);
  expect_products(*unit_, large, 0, 300);
  expect_products(*unit_, small, 0, 5);
  expect_products(*unit_, middle, 0, 120);
  expect_products(*unit_, middle, 40, 100);
}

TEST_F(CudaSparseTest, ARowWithoutEntriesIsZero) {
  const std::vector<std::uint64_t> begins{0, 0, 0};
  const std::int32_t index = 0;
  const float value = 0;
  unit_->load({4, begins, &index, &value}, soon());
  const std::vector<float> x(4, 1.0f);
  std::vector<float> y(2, 7.0f);
  unit_->start(x, soon());
  unit_->finish(y, soon());
  EXPECT_THAT(y, testing::ElementsAre(0, 0));
}

TEST_F(CudaSparseTest, ItsRatesAreMeasured) {
  const RandomRows matrix(60, 50, 20);
  const device::SparseRates rates = unit_->rates(matrix.rows(), soon());
  EXPECT_FALSE(rates.is_modelled);
  EXPECT_GT(rates.entry_s, 0);
  EXPECT_GT(rates.fixed_s, 0);
  EXPECT_EQ(rates.row_s, rates.entry_s);
  const std::vector<std::uint64_t> begins{0};
  EXPECT_GE(unit_->rates({4, begins, nullptr, nullptr}, soon()).entry_s, 0) << "no rows";
}

TEST_F(CudaSparseTest, SharesRowsWithTheCpu) {
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
  std::vector<std::unique_ptr<SparseUnit>> units;
  units.push_back(make_sparse_unit(*cpu));
  units.push_back(std::move(unit_));
  const auto all = share_sparse_rows(std::move(units));
  EXPECT_EQ(all->name(), "cpu+cuda:0");
  const RandomRows matrix(200, 100, 60);
  all->load(matrix.rows(), soon());
  std::vector<float> y(200, -1.0f);
  all->start(matrix.x, soon());
  std::uint64_t next = 0;
  for (const SparsePart& part : all->finish(y, soon())) {
    EXPECT_EQ(part.first_row, next) << part.device;
    next = part.last_row;
  }
  EXPECT_EQ(next, 200u);
  matrix.expect_product(y);
}

TEST_F(CudaSparseTest, AMatrixLargerThanItsMemoryIsRefused) {
  const RandomRows matrix(20, 30, 4);
  unit_->load(matrix.rows(), soon());
  const std::vector<std::uint64_t> begins{0, 0};
  try {
    unit_->load({std::uint64_t{1} << 45, begins, nullptr, nullptr}, soon());
    FAIL() << "a vector of 140 TB";
  } catch (const DeviceError&) {
    FAIL() << "the GPU is lost";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("use more devices"));
  }
  std::vector<float> y(20);
  unit_->start(matrix.x, soon());
  unit_->finish(y, soon());
  matrix.expect_product(y);
}

}  // namespace
}  // namespace tandem::device_test
