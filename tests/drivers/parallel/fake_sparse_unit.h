// SPDX-License-Identifier: Apache-2.0
//
// What tests of shared products use: a matrix, a unit that counts its calls and fails as told, and
// two such units as one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "common/error.h"
#include "parallel/shared_sparse_unit.h"

namespace tandem::device {

constexpr std::chrono::seconds kPatience{20};
inline Deadline soon() { return Deadline::after(kPatience); }

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
  bool works_on_host() const override { return on_the_host; }
  SparseRates rates(const SparseRows& rows, Deadline deadline) override {
    ends.rates = deadline.time_point();
    if (on_rates) on_rates();
    if (measures_room) check_room(rows);
    return rates_;
  }
  void load(const SparseRows& rows, Deadline deadline) override {
    ends.load = deadline.time_point();
    ++loads;
    if (on_load) on_load();
    check_room(rows);
    values_.assign(rows.values + rows.begins.front(), rows.values + rows.begins.back());
  }
  void start(std::span<const float> x, Deadline deadline) override {
    ends.start = deadline.time_point();
    if (on_start) on_start();
    x_ = x[0];
    record->seen.push_back(x_);
  }
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override {
    ends.finish = deadline.time_point();
    if (on_finish) on_finish();
    record->y_begin = y.data();
    record->finisher = std::this_thread::get_id();
    for (std::size_t row = 0; row < y.size(); ++row) y[row] = values_[row] * x_;
    return {{name_, 0, y.size(), y.size(), rates_.is_modelled ? 42.0 : 0.0, rates_.is_modelled, 1.0,
             ""}};
  }
  void on_host(const SparseRows& rows, std::span<const float> x,
               std::span<float> y) const override {
    ++hosted;
    for (std::size_t row = 0; row < y.size(); ++row) {
      y[row] = rows.values[rows.begins[row]] * x[0];
    }
  }

  std::function<void()> on_rates, on_load, on_start, on_finish;
  std::uint64_t room = 1'000'000;  // rows
  bool on_the_host = false;
  bool measures_room = true;  // else only a load finds that memory is short
  struct Ends {
    Deadline::Clock::time_point rates, load, start, finish;
  } ends;  // of the last calls
  int loads = 0;
  struct Record {
    std::vector<float> seen;         // by start()
    const float* y_begin = nullptr;  // of the last finish()
    std::thread::id finisher;
  };
  const std::shared_ptr<Record> record = std::make_shared<Record>();  // outlives the unit
  mutable int hosted = 0;                                             // calls of on_host()

 private:
  void check_room(const SparseRows& rows) const {
    if (rows.rows() > room) throw SparseRoomError("test", "too large for " + name_);
  }

  std::string name_;
  SparseRates rates_;
  std::vector<float> values_;
  float x_ = 0;
};

struct Pair {
  // first_on_host: the first works in the caller's thread.
  Pair(SparseRates first_rates, SparseRates second_rates, bool first_on_host = false,
       Deadline::Clock::duration grace = kPatience) {
    auto a = std::make_unique<FakeUnit>("a", first_rates);
    a->on_the_host = first_on_host;
    auto b = std::make_unique<FakeUnit>("b", second_rates);
    first = a.get();
    second = b.get();
    std::vector<std::unique_ptr<SparseUnit>> units;
    units.push_back(std::move(a));
    units.push_back(std::move(b));
    whole = std::make_unique<parallel::SharedSparseUnit>(std::move(units), grace);
  }
  std::vector<SparsePart> multiply(float x, std::span<float> y) const {
    whole->start({&x, 1}, soon());
    return whole->finish(y, soon());
  }

  FakeUnit *first, *second;
  std::unique_ptr<SparseUnit> whole;
};

inline std::function<void()> dies() {
  return [] { throw DeviceError("test", "the card is gone"); };
}

inline void expect_whole(std::span<const float> y, float x) {
  for (std::size_t row = 0; row < y.size(); ++row) {
    ASSERT_EQ(y[row], x * static_cast<float>(row + 1)) << row;
  }
}

}  // namespace tandem::device
