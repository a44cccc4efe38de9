// SPDX-License-Identifier: Apache-2.0
//
// A matrix shared by rows over doubles: division, overlap, gathering, failures.
#include "parallel/shared_sparse_unit.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>

#include "common/error.h"

namespace tandem::device {
namespace {

constexpr std::chrono::seconds kPatience{20};
Deadline soon() { return Deadline::after(kPatience); }

// Rows of one entry in column 0: row r has the value r + 1.
struct Diagonal {
  explicit Diagonal(std::uint64_t rows) : begins(rows + 1), indices(rows, 0), values(rows) {
    std::iota(begins.begin(), begins.end(), 0u);
    std::iota(values.begin(), values.end(), 1.0f);
  }
  SparseRows rows() const { return {1, begins, indices.data(), values.data()}; }

  std::vector<std::uint64_t> begins;
  std::vector<std::int32_t> indices;
  std::vector<float> values;
};

class FakeUnit final : public SparseUnit {
 public:
  FakeUnit(std::string name, SparseRates rates) : name_(std::move(name)), rates_(rates) {}

  std::string name() const override { return name_; }
  SparseRates rates(const SparseRows&, Deadline) override { return rates_; }
  void load(const SparseRows& rows, Deadline) override {
    ++loads;
    if (on_load) on_load();
    values_.assign(rows.values + rows.begins.front(), rows.values + rows.begins.back());
  }
  void start(std::span<const float> x, Deadline) override {
    if (on_start) on_start();
    x_ = x[0];
  }
  std::vector<SparsePart> finish(std::span<float> y, Deadline) override {
    if (on_finish) on_finish();
    for (std::size_t row = 0; row < y.size(); ++row) y[row] = values_[row] * x_;
    return {
        {name_, 0, y.size(), y.size(), rates_.is_modelled ? 42.0 : 0.0, rates_.is_modelled, 1.0}};
  }

  std::function<void()> on_load, on_start, on_finish;
  int loads = 0;

 private:
  std::string name_;
  SparseRates rates_;
  std::vector<float> values_;
  float x_ = 0;
};

struct Pair {
  Pair(SparseRates first_rates, SparseRates second_rates) {
    auto a = std::make_unique<FakeUnit>("a", first_rates);
    auto b = std::make_unique<FakeUnit>("b", second_rates);
    first = a.get();
    second = b.get();
    std::vector<std::unique_ptr<SparseUnit>> units;
    units.push_back(std::move(a));
    units.push_back(std::move(b));
    whole = share_sparse_rows(std::move(units));
  }
  std::vector<SparsePart> multiply(float x, std::span<float> y) const {
    whole->start({&x, 1}, soon());
    return whole->finish(y, soon());
  }

  FakeUnit *first, *second;
  std::unique_ptr<SparseUnit> whole;
};

TEST(SharedSparseUnit, EveryUnitWritesItsRows) {
  const Diagonal matrix(90);
  const Pair pair({0, 0, 2, false}, {0, 0, 1, true});
  EXPECT_EQ(pair.whole->name(), "a+b");
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(90);
  for (const float x : {1.0f, -3.0f}) {
    const std::vector<SparsePart> parts = pair.multiply(x, y);
    for (std::size_t row = 0; row < 90; ++row) {
      ASSERT_EQ(y[row], x * static_cast<float>(row + 1)) << row;
    }
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].device, "a");
    EXPECT_EQ(parts[0].last_row, 30u);
    EXPECT_EQ(parts[0].predicted_s, 60.0) << "by its rates";
    EXPECT_EQ(parts[1].first_row, 30u);
    EXPECT_EQ(parts[1].last_row, 90u);
    EXPECT_EQ(parts[1].predicted_s, 42.0) << "its own model knows better";
  }
}

TEST(SharedSparseUnit, TransfersOfAUnitOverlapWithTheWorkOfAnother) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  std::promise<void> computes;
  bool overlaps = false;
  pair.first->on_finish = [&] { computes.set_value(); };
  pair.second->on_start = [&] {
    overlaps = computes.get_future().wait_for(kPatience) == std::future_status::ready;
  };
  std::vector<float> y(10);
  pair.multiply(2.0f, y);
  EXPECT_TRUE(overlaps) << "the first unit computed only after the second had its vector";
  EXPECT_EQ(y.back(), 20.0f);
}

TEST(SharedSparseUnit, AUnitThatDoesNotPayIsNotCalled) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {100, 0, 1e-3, true});
  pair.second->on_start = [] { FAIL() << "it has no rows"; };
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(1.0f, y).size(), 1u);
  EXPECT_EQ(pair.second->loads, 0);
  EXPECT_EQ(y[9], 10.0f);
}

TEST(SharedSparseUnit, AFailureIsToldOnceAllHaveEnded) {
  const Diagonal matrix(10);
  std::vector<float> y(10);
  int finished = 0;
  const Pair one({0, 0, 1, false}, {0, 0, 1, true});
  one.whole->load(matrix.rows(), soon());
  one.second->on_start = [] { throw DeviceError("test", "the card is gone"); };
  one.second->on_finish = [&] { ++finished; };
  EXPECT_THROW(one.multiply(1.0f, y), DeviceError);
  EXPECT_EQ(finished, 0) << "a product that did not start has no end";
  const Pair other({0, 0, 1, false}, {0, 0, 1, true});
  other.whole->load(matrix.rows(), soon());
  other.first->on_finish = [] { throw DeviceError("test", "the first fails"); };
  other.second->on_finish = [&] { ++finished; };
  EXPECT_THROW(other.multiply(1.0f, y), DeviceError);
  EXPECT_EQ(finished, 1) << "the second has ended as well";
}

TEST(SharedSparseUnit, ALostUnitLosesTheWhole) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  int started = 0;
  pair.first->on_start = [] { throw DeviceError("test", "the first fails"); };
  pair.second->on_start = [&] { ++started; };
  std::vector<float> y(10);
  EXPECT_THROW(pair.multiply(1.0f, y), DeviceError);
  pair.first->on_start = nullptr;
  EXPECT_THROW(pair.multiply(1.0f, y), DeviceError);
  EXPECT_EQ(started, 1) << "the second has an unfinished product, and starts no other";
  EXPECT_THROW(pair.whole->load(matrix.rows(), soon()), DeviceError);
  EXPECT_THROW(pair.whole->rates(matrix.rows(), soon()), DeviceError);
}

TEST(SharedSparseUnit, ALoadThatFailsLeavesNoRows) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  std::vector<float> y(10);
  EXPECT_THROW(pair.multiply(1.0f, y), Error) << "nothing was loaded yet";
  pair.whole->load(matrix.rows(), soon());
  pair.second->on_load = [] { throw Error("test", "too large"); };
  EXPECT_THROW(pair.whole->load(matrix.rows(), soon()), Error);
  EXPECT_THROW(pair.multiply(1.0f, y), Error);
  pair.second->on_load = nullptr;
  pair.whole->load(matrix.rows(), soon());
  pair.multiply(2.0f, y);
  EXPECT_EQ(y.back(), 20.0f);
}

TEST(SharedSparseUnit, RatesOfAllAddUp) {
  const Diagonal matrix(10);
  const Pair pair({0, 2, 2, false}, {5, 1, 2, true});
  const SparseRates rates = pair.whole->rates(matrix.rows(), soon());
  EXPECT_DOUBLE_EQ(rates.fixed_s, 5);
  EXPECT_DOUBLE_EQ(rates.row_s, 2.0 / 3);
  EXPECT_DOUBLE_EQ(rates.entry_s, 1);
}

TEST(SharedSparseUnit, NeedsADevice) { EXPECT_THROW(share_sparse_rows({}), Error); }

}  // namespace
}  // namespace tandem::device
