// SPDX-License-Identifier: Apache-2.0
//
// A slice of a sparse matrix on the CPU.
#include "cpu/sparse_unit.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "cpu/backend.h"
#include "device/device.h"
#include "device/registry.h"

namespace tandem::device {
namespace {

const std::vector<std::uint64_t> kBegins = {0, 2, 2, 3, 6};
const std::vector<std::int32_t> kIndices = {0, 3, 1, 0, 2, 3};
const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

SparseRows whole() { return {4, kBegins, kIndices.data(), kValues.data()}; }
Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

TEST(CpuSparseUnit, MultipliesASliceOfTheRows) {
  const auto device = cpu_backend().open(0, {.num_threads = 2});
  const auto unit = make_sparse_unit(*device);
  const std::vector<float> x = {1, 10, 100, 1000};
  std::vector<float> y(4);
  unit->load(whole(), soon());
  unit->start(x, soon());
  const auto parts = unit->finish(y, soon());
  EXPECT_EQ(y, (std::vector<float>{2001, 0, 30, 6504}));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].device, "cpu");
  EXPECT_EQ(parts[0].entries, 6u);
  std::vector<float> two(2);
  unit->load(whole().slice(2, 4), soon());
  unit->start(x, soon());
  EXPECT_EQ(unit->finish(two, soon())[0].last_row, 2u);
  EXPECT_EQ(two, (std::vector<float>{30, 6504}));
}

TEST(CpuSparseUnit, ItsRatesAreMeasured) {
  cpu::CpuSparseUnit unit({.num_threads = 1});
  const SparseRates rates = unit.rates(whole(), soon());
  EXPECT_FALSE(rates.is_modelled);
  EXPECT_GT(rates.entry_s, 0);
  EXPECT_EQ(rates.row_s, rates.entry_s);
  EXPECT_EQ(rates.seconds(0, 0), 0);
}

TEST(CpuSparseUnit, TooManyColumnsAreRefused) {
  cpu::CpuSparseUnit unit({.num_threads = 1});
  SparseRows wide = whole();
  wide.columns = (std::uint64_t{1} << 31) + 1;
  EXPECT_THROW(unit.load(wide, soon()), Error);
}

}  // namespace
}  // namespace tandem::device
