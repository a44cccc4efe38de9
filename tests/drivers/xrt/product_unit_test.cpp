// SPDX-License-Identifier: Apache-2.0
//
// Sparse products on the emulated card, through the real runtime: sums within their bound, matrices
// that follow one another, rows shared with the CPU, loss.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "common/error.h"
#include "cpu/backend.h"
#include "device/sparse_unit.h"
#include "drivers/xrt/emulated_environment.h"
#include "support/card_processes.h"
#include "xrt/backend.h"

namespace tandem::device_test {
namespace {

using device::SparsePart;
using device::SparseRows;
using device::SparseUnit;
using test::card_processes;
using test::stop;

constexpr auto kPatience = std::chrono::seconds(60);
Deadline soon() { return Deadline::after(kPatience); }

struct RandomMatrix {
  RandomMatrix(std::uint64_t rows, std::uint64_t num_columns, std::size_t most)
      : columns(num_columns) {
    std::mt19937 random(4);
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::set<std::int32_t> places;
      for (std::size_t i = random() % (most + 1); i > 0; --i) {
        places.insert(static_cast<std::int32_t>(random() % num_columns));
      }
      indices.insert(indices.end(), places.begin(), places.end());
      begins.push_back(indices.size());
    }
    for (std::size_t i = 0; i < indices.size(); ++i) values.push_back(value(random));
    for (std::uint64_t i = 0; i < columns; ++i) x.push_back(value(random));
  }
  static float value(std::mt19937& random) { return std::normal_distribution<float>()(random); }
  SparseRows rows() const { return {columns, begins, indices.data(), values.data()}; }

  void expect_product(std::span<const float> y) const {
    for (std::size_t row = 0; row < y.size(); ++row) {
      double sum = 0, size = 0;
      for (std::uint64_t e = begins[row]; e < begins[row + 1]; ++e) {
        const double term = static_cast<double>(values[e]) *
                            static_cast<double>(x[static_cast<std::size_t>(indices[e])]);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(y[row]), sum, size * 16 * 0x1p-24) << row;
    }
  }

  std::vector<SparsePart> on(SparseUnit& unit, Deadline deadline = soon()) const {
    std::vector<float> y(begins.size() - 1, -1.0f);
    unit.start(x, deadline);
    std::vector<SparsePart> parts = unit.finish(y, deadline);
    expect_product(y);
    return parts;
  }

  std::uint64_t columns;
  std::vector<std::uint64_t> begins = {0};
  std::vector<std::int32_t> indices;
  std::vector<float> values, x;
};

class XrtSparseUnitTest : public ::testing::Test {
 protected:
  std::unique_ptr<SparseUnit> make_unit(int card = 0) {
    devices_.push_back(device::xrt_backend().open(card, {}));
    return make_sparse_unit(*devices_.back());
  }
  std::vector<std::unique_ptr<device::Device>> devices_;
};

TEST_F(XrtSparseUnitTest, MultipliesMatricesThatFollowOneAnother) {
  const auto unit = make_unit();
  EXPECT_EQ(unit->name(), "xrt:0");
  for (const RandomMatrix& matrix :
       {RandomMatrix(3000, 70'000, 30), RandomMatrix(5, 3, 2), RandomMatrix(400, 900, 200)}) {
    unit->load(matrix.rows(), soon());
    for (int product = 0; product < 2; ++product) {
      const std::vector<SparsePart> parts = matrix.on(*unit);
      ASSERT_EQ(parts.size(), 1u);
      EXPECT_TRUE(parts[0].is_modelled);
      EXPECT_EQ(parts[0].entries, matrix.indices.size());
      EXPECT_GT(parts[0].predicted_s, 100e-6) << "twelve transfers of 10 us";
      EXPECT_LT(parts[0].predicted_s, 1e-3);
    }
  }
}

TEST_F(XrtSparseUnitTest, TakesASliceOfTheRows) {
  const auto unit = make_unit();
  const RandomMatrix matrix(100, 50, 20);
  unit->load(matrix.rows().slice(40, 100), soon());
  std::vector<float> y(60), all(100);
  unit->start(matrix.x, soon());
  unit->finish(y, soon());
  unit->load(matrix.rows(), soon());
  unit->start(matrix.x, soon());
  unit->finish(all, soon());
  EXPECT_EQ(y, std::vector<float>(all.begin() + 40, all.end()));
}

TEST_F(XrtSparseUnitTest, SharesItsRowsWithTheCpuAndAnotherCard) {
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
  std::vector<std::unique_ptr<SparseUnit>> units;
  units.push_back(make_sparse_unit(*cpu));
  units.push_back(make_unit(0));
  units.push_back(make_unit(1));
  const auto all = share_sparse_rows(std::move(units));
  const RandomMatrix matrix(30'000, 2000, 60);
  all->load(matrix.rows(), soon());
  std::uint64_t next = 0;
  for (const SparsePart& part : matrix.on(*all)) {
    EXPECT_EQ(part.first_row, next) << part.device;
    next = part.last_row;
  }
  EXPECT_EQ(next, 30'000u);
  // A product of nothing but fixed time stays on the CPU.
  const RandomMatrix small(20, 30, 4);
  all->load(small.rows(), soon());
  const std::vector<SparsePart> parts = small.on(*all);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].device, "cpu");
}

TEST_F(XrtSparseUnitTest, TheHostRepeatsItsBits) {
  const auto unit = make_unit();
  // Rows of several tiles, of more than 64 entries, and without any.
  for (const RandomMatrix& matrix : {RandomMatrix(200, 200'000, 300), RandomMatrix(60, 5, 3)}) {
    unit->load(matrix.rows(), soon());
    std::vector<float> y(matrix.begins.size() - 1), hosted(y.size(), 7.0f);
    unit->start(matrix.x, soon());
    unit->finish(y, soon());
    unit->on_host(matrix.rows(), matrix.x, hosted);
    EXPECT_EQ(y, hosted);
  }
}

TEST_F(XrtSparseUnitTest, AMatrixLargerThanItsMemoryIsRefused) {
  const auto unit = make_unit();
  const RandomMatrix matrix(50, 30, 4);
  unit->load(matrix.rows(), soon());
  const std::vector<std::uint64_t> begins = {0, 0};  // a row without entries
  const std::int32_t index = 0;
  const float value = 0;
  try {
    unit->load({1u << 30, begins, &index, &value}, soon());
    FAIL() << "a vector of 4 GB";
  } catch (const DeviceError&) {
    FAIL() << "the card is lost";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use more cards"), std::string::npos);
  }
  matrix.on(*unit);
}

TEST_F(XrtSparseUnitTest, AKilledCardIsLostForEver) {
  auto unit = make_unit();
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const RandomMatrix matrix(50, 30, 4);
  unit->load(matrix.rows(), soon());
  matrix.on(*unit);
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  EXPECT_THROW(matrix.on(*unit), DeviceError);
  EXPECT_THROW(unit->load(matrix.rows(), soon()), DeviceError);
  unit.reset();
}

// A card killed between start() and finish() of a shared product.
TEST_F(XrtSparseUnitTest, ItsRowsOfASharedProductAreFinishedWithTheSameBits) {
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
  std::vector<std::unique_ptr<SparseUnit>> units;
  units.push_back(make_sparse_unit(*cpu));
  units.push_back(make_unit());
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const auto all = share_sparse_rows(std::move(units));
  const RandomMatrix matrix(30'000, 2000, 60);
  all->load(matrix.rows(), soon());
  std::vector<float> want(30'000), got(30'000, -1.0f);
  all->start(matrix.x, soon());
  ASSERT_EQ(all->finish(want, soon()).back().device, "xrt:0") << "the card has rows";
  all->start(matrix.x, soon());
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  all->finish(got, soon());  // whether the card was in time or not
  EXPECT_EQ(got, want);
  all->start(matrix.x, soon());
  const std::vector<SparsePart> parts = all->finish(got, soon());
  EXPECT_EQ(got, want);
  EXPECT_FALSE(parts.back().host_reason.empty());
  all->load(matrix.rows(), soon());
  EXPECT_EQ(matrix.on(*all).size(), 1u) << "the CPU has all rows now";
}

TEST_F(XrtSparseUnitTest, AStoppedCardIsLostAtTheDeadline) {
  auto unit = make_unit();
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const RandomMatrix matrix(50, 30, 4);
  unit->load(matrix.rows(), soon());
  stop(cards[0]);
  EXPECT_THROW(matrix.on(*unit, Deadline::after(std::chrono::milliseconds(20))), DeviceError);
  EXPECT_THROW(matrix.on(*unit), DeviceError);  // at once, although its deadline is a minute away
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  unit.reset();
}

// The card stops before a load, which it takes nevertheless, or before a product.
class StoppedCardTest : public XrtSparseUnitTest, public testing::WithParamInterface<bool> {};

TEST_P(StoppedCardTest, StopsNoSharedProduct) {
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
  std::vector<std::unique_ptr<SparseUnit>> units;
  units.push_back(make_sparse_unit(*cpu));
  units.push_back(make_unit());
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  const auto all = share_sparse_rows(std::move(units));
  const RandomMatrix matrix(30'000, 2000, 60);
  all->load(matrix.rows(), soon());
  std::vector<float> want(30'000), got(30'000, -1.0f);
  all->start(matrix.x, soon());
  ASSERT_EQ(all->finish(want, soon()).back().device, "xrt:0") << "the card has rows";
  stop(cards[0]);
  const bool in_load = GetParam();
  if (in_load) all->load(matrix.rows(), soon());
  all->start(matrix.x, soon());
  const auto parts = all->finish(got, Deadline::after(std::chrono::milliseconds(100)));
  EXPECT_NE(parts.back().host_reason.find("no answer before the deadline"), std::string::npos);
  if (!in_load) {  // a load may have divided the rows anew
    EXPECT_EQ(got, want);
  }
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
}
INSTANTIATE_TEST_SUITE_P(Calls, StoppedCardTest, testing::Bool());

}  // namespace
}  // namespace tandem::device_test
