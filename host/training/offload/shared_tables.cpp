// SPDX-License-Identifier: Apache-2.0
//
// A reduce-scatter of rows brings every owner the sums of its rows; an all-gather brings all ranks
// the new ones: units, then weights. Owners have equal shares of a bundle's units, so that the even
// ranges of the reduce-scatter are theirs.
#include "training/offload/shared_tables.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "tensor/sparse/coalesce.h"
#include "training/squares.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kMostUnits = std::numeric_limits<std::uint32_t>::max();

// The sums of repeated rows.
sparse::SparseVector summed(const CardTable& table, const CardRows& rows) {
  const std::size_t wanted = rows.rows.size() * table.width;
  if (rows.gradient.size() != wanted) {
    throw Error("training", "table " + table.name + ": " + std::to_string(rows.rows.size()) +
                                " rows of " + std::to_string(table.width) + " need " +
                                std::to_string(wanted) + " values of gradient, not " +
                                std::to_string(rows.gradient.size()));
  }
  return sparse::coalesce({.domain = {table.weights.size() / table.width, table.width},
                           .num_entries = rows.rows.size(),
                           .indices = rows.rows.data(),
                           .values = rows.gradient.data()},
                          sparse::Reduction::kSum);
}

}  // namespace

SharedTables::SharedTables(collectives::Group* group,
                           std::vector<std::unique_ptr<device::TableUnit>> cards, ThreadPool& pool,
                           const CardTablesOptions& options, const collectives::CallOptions& calls)
    : group_(group), calls_(calls), tables_(std::move(cards), pool, options) {}

std::uint64_t SharedTables::world() const {
  return static_cast<std::uint64_t>(group_ == nullptr ? 1 : group_->world());
}
std::uint64_t SharedTables::rank() const {
  return static_cast<std::uint64_t>(group_ == nullptr ? 0 : group_->rank());
}

std::uint32_t SharedTables::add(const CardTable& table) {
  if (table.width == 0 || table.weights.size() % table.width != 0) {
    throw Error("training", "table " + table.name + ": " + std::to_string(table.weights.size()) +
                                " values are not rows of " + std::to_string(table.width));
  }
  Shared shared{table, table.weights.size() / table.width};
  shared.share = (shared.num_rows + world() - 1) / world();
  shared.first_row = std::min(shared.num_rows, rank() * shared.share);
  shared.end_row = std::min(shared.num_rows, (rank() + 1) * shared.share);
  if (shared.first_row < shared.end_row || shared.num_rows == 0) {
    CardTable own = table;
    own.weights = table.weights.subspan(shared.first_row * table.width,
                                        (shared.end_row - shared.first_row) * table.width);
    shared.own = tables_.add(own);
  }
  shared_.push_back(shared);
  const auto number = static_cast<std::uint32_t>(shared_.size() - 1);
  put_in_bundle(number);
  return number;
}

void SharedTables::put_in_bundle(std::uint32_t table) {
  Shared& shared = shared_[table];
  const auto fits = [&](const Bundle& bundle) {
    return bundle.width == shared.table.width &&
           (bundle.share + shared.share) * world() <= kMostUnits;
  };
  auto found = std::ranges::find_if(bundles_, fits);
  if (found == bundles_.end())
    found = bundles_.insert(found, Bundle{shared.table.width, 0, {}, {}});
  shared.offset = found->share;
  found->share += shared.share;
  found->tables.push_back(table);
}

double SharedTables::sum(std::vector<CardRows> rows) {
  rows_ = std::move(rows);
  for (const CardRows& one : rows_) {
    if (one.table < shared_.size()) continue;
    throw Error("training", "there is no table " + std::to_string(one.table));
  }
  if (group_ == nullptr) return sum_alone();
  for (Bundle& bundle : bundles_) sum(bundle);
  return squares();
}

// The rows of a single rank. From here on each row occurs once, so that the update adds nothing
// again.
double SharedTables::sum_alone() {
  sums_.clear();
  double squares = 0;
  for (CardRows& rows : rows_) {
    sums_.push_back(summed(shared_[rows.table].table, rows));
    const sparse::SparseVector& sums = sums_.back();
    rows.rows = sums.indices<std::uint32_t>();
    rows.gradient = sums.values<float>();
    squares += sum_of_squares(rows.gradient);
  }
  return squares;
}

void SharedTables::sum(Bundle& bundle) {
  const std::uint64_t units = bundle.share * world();
  std::vector<std::uint32_t> indices;
  RawVector<float> values;
  for (const CardRows& rows : rows_) {
    const Shared& shared = shared_[rows.table];
    if (std::ranges::find(bundle.tables, rows.table) == bundle.tables.end()) continue;
    for (const std::uint32_t row : rows.rows) {
      // One that is out of range stays so: the call names it on all ranks.
      const std::uint64_t owner = shared.share == 0 ? 0 : row / shared.share;
      const std::uint64_t unit = owner * bundle.share + shared.offset + row - owner * shared.share;
      indices.push_back(static_cast<std::uint32_t>(row < shared.num_rows ? unit : units));
    }
    values.insert(values.end(), rows.gradient.begin(), rows.gradient.end());
  }
  collectives::SparseView view;
  view.num_units = units;
  view.width = bundle.width;
  view.num_entries = indices.size();
  view.indices = indices.data();
  view.values = values.data();
  if (values.size() != indices.size() * bundle.width) view.indices = nullptr;
  collectives::ReduceOptions options;
  options.timeout = calls_.timeout;
  bundle.sums = collectives::sparse_reduce_scatter(*group_, view, options);
}

double SharedTables::squares() const {
  double own = 0;
  for (const Bundle& bundle : bundles_) own += sum_of_squares(bundle.sums.values_as<float>());
  double all = 0;
  for (const auto& bytes :
       collectives::allgatherv(*group_, std::as_bytes(std::span(&own, 1)), calls_)) {
    double one = 0;
    std::memcpy(&one, bytes.data(), sizeof(one));
    all += one;
  }
  return all;
}

void SharedTables::update(const StepFactors& step) {
  const auto begin = std::chrono::steady_clock::now();
  update_own(step);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  update_seconds_ = seconds.count();
  if (group_ == nullptr) return;
  for (const Bundle& bundle : bundles_) gather(bundle);
}

void SharedTables::update_own(const StepFactors& step) {
  if (group_ != nullptr) {
    for (const Bundle& bundle : bundles_) update(step, bundle);
    return;
  }
  for (const CardRows& rows : rows_) {
    tables_.update_rows(step, {*shared_[rows.table].own, rows.rows, rows.gradient});
  }
}

// The units of this rank's rows are sorted, so those of a table are a range.
void SharedTables::update(const StepFactors& step, const Bundle& bundle) {
  const auto units = bundle.sums.indices_as<std::uint32_t>();
  const auto values = bundle.sums.values_as<float>();
  const std::uint64_t begin = rank() * bundle.share;
  std::size_t at = 0;
  for (const std::uint32_t number : bundle.tables) {
    const Shared& shared = shared_[number];
    const std::size_t first = at;
    std::vector<std::uint32_t> rows;
    for (; at < units.size() && units[at] < begin + shared.offset + shared.share; ++at) {
      rows.push_back(static_cast<std::uint32_t>(units[at] - begin - shared.offset));
    }
    if (!shared.own) continue;
    tables_.update_rows(step, {*shared.own, rows,
                               values.subspan(first * bundle.width, rows.size() * bundle.width)});
  }
}

const SharedTables::Shared& SharedTables::table_at(const Bundle& bundle,
                                                   std::uint64_t place) const {
  const auto next = std::ranges::upper_bound(
      bundle.tables, place, {}, [&](std::uint32_t number) { return shared_[number].offset; });
  return shared_[*std::prev(next)];
}

void SharedTables::gather(const Bundle& bundle) {
  const auto units = bundle.sums.indices_as<std::uint32_t>();
  const std::size_t row_bytes = bundle.width * sizeof(float);
  std::vector<std::byte> own(units.size() * (sizeof(std::uint32_t) + row_bytes));
  if (!units.empty()) std::memcpy(own.data(), units.data(), units.size_bytes());
  std::byte* to = own.data() + units.size_bytes();
  for (const std::uint32_t unit : units) {
    const std::uint64_t place = unit - rank() * bundle.share;
    const Shared& shared = table_at(bundle, place);
    const std::uint64_t row = shared.first_row + place - shared.offset;
    std::memcpy(to, shared.table.weights.data() + row * bundle.width, row_bytes);
    to += row_bytes;
  }
  const auto all = collectives::allgatherv(*group_, own, calls_);
  for (std::uint64_t owner = 0; owner < world(); ++owner) {
    if (owner != rank()) take(bundle, owner, all[owner]);
  }
}

void SharedTables::take(const Bundle& bundle, std::uint64_t owner,
                        std::span<const std::byte> bytes) {
  const std::size_t row_bytes = bundle.width * sizeof(float);
  const std::size_t count = bytes.size() / (sizeof(std::uint32_t) + row_bytes);
  const std::byte* weights = bytes.data() + count * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < count; ++i, weights += row_bytes) {
    std::uint32_t unit = 0;
    std::memcpy(&unit, bytes.data() + i * sizeof(unit), sizeof(unit));
    const std::uint64_t place = unit - owner * bundle.share;
    if (place >= bundle.share) {
      throw Error("training", "rank " + std::to_string(owner) + " sent unit " +
                                  std::to_string(unit) + ", which is not its own");
    }
    const Shared& shared = table_at(bundle, place);
    const std::uint64_t row = owner * shared.share + place - shared.offset;
    if (row >= shared.num_rows) {
      throw Error("training", "rank " + std::to_string(owner) + " sent row " + std::to_string(row) +
                                  " of table " + shared.table.name + ", which has " +
                                  std::to_string(shared.num_rows));
    }
    std::memcpy(shared.table.weights.data() + row * bundle.width, weights, row_bytes);
  }
}

std::vector<StateView> SharedTables::state() {
  std::vector<StateView> views = tables_.state();
  for (StateView& view : views) {
    for (const Shared& shared : shared_) {
      if (!shared.own || !view.name.starts_with(shared.table.name + "/")) continue;
      const bool by_row = std::holds_alternative<RowwiseAdagrad>(shared.table.rule);
      view.first = shared.first_row * (by_row ? 1 : shared.table.width);
    }
  }
  return views;
}

}  // namespace tandem::training
