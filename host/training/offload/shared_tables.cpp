// SPDX-License-Identifier: Apache-2.0
//
// A reduce-scatter of rows brings every owner the sums of its rows; an all-gather brings all ranks
// the new ones: row numbers, then weights.
#include "training/offload/shared_tables.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace tandem::training {

SharedTables::SharedTables(collectives::Group* group,
                           std::vector<std::unique_ptr<device::TableUnit>> cards, ThreadPool& pool,
                           const CardTablesOptions& options, const collectives::CallOptions& calls)
    : group_(group), calls_(calls), tables_(std::move(cards), pool, options) {}

std::uint32_t SharedTables::add(const CardTable& table) {
  if (table.width == 0 || table.weights.size() % table.width != 0) {
    throw Error("training", "table " + table.name + ": " + std::to_string(table.weights.size()) +
                                " values are not rows of " + std::to_string(table.width));
  }
  Shared shared{table, table.weights.size() / table.width, 0, 0, {}};
  const auto ranks = static_cast<std::uint64_t>(group_ == nullptr ? 1 : group_->world());
  const auto rank = static_cast<std::uint64_t>(group_ == nullptr ? 0 : group_->rank());
  const std::uint64_t share = (shared.num_rows + ranks - 1) / ranks;
  shared.first_row = std::min(shared.num_rows, rank * share);
  shared.end_row = std::min(shared.num_rows, (rank + 1) * share);
  if (shared.first_row < shared.end_row || shared.num_rows == 0) {
    CardTable own = table;
    own.weights = table.weights.subspan(shared.first_row * table.width,
                                        (shared.end_row - shared.first_row) * table.width);
    shared.own = tables_.add(own);
  }
  shared_.push_back(shared);
  return static_cast<std::uint32_t>(shared_.size() - 1);
}

void SharedTables::update_rows(const StepFactors& step, const CardRows& rows) {
  if (rows.table >= shared_.size()) {
    throw Error("training", "there is no table " + std::to_string(rows.table));
  }
  const Shared& shared = shared_[rows.table];
  if (group_ == nullptr) {
    return tables_.update_rows(step, {*shared.own, rows.rows, rows.gradient});
  }
  collectives::SparseView view;
  view.num_units = shared.num_rows;
  view.width = shared.table.width;
  view.num_entries = rows.rows.size();
  view.indices = rows.rows.data();
  view.values = rows.gradient.data();
  if (rows.gradient.size() != rows.rows.size() * shared.table.width) view.indices = nullptr;
  collectives::ReduceOptions options;
  options.timeout = calls_.timeout;
  const collectives::SparseTensor sum = collectives::sparse_reduce_scatter(*group_, view, options);
  std::vector<std::uint32_t> own(sum.indices_as<std::uint32_t>().begin(),
                                 sum.indices_as<std::uint32_t>().end());
  for (std::uint32_t& row : own) row -= static_cast<std::uint32_t>(shared.first_row);
  if (shared.own) tables_.update_rows(step, {*shared.own, own, sum.values_as<float>()});
  gather(shared, sum.indices_as<std::uint32_t>());
}

void SharedTables::gather(const Shared& shared, std::span<const std::uint32_t> rows) {
  const std::size_t row_bytes = shared.table.width * sizeof(float);
  std::vector<std::byte> own(rows.size() * (sizeof(std::uint32_t) + row_bytes));
  if (!rows.empty()) std::memcpy(own.data(), rows.data(), rows.size_bytes());
  std::byte* to = own.data() + rows.size_bytes();
  for (const std::uint32_t row : rows) {
    const float* from = shared.table.weights.data() + std::size_t{row} * shared.table.width;
    std::memcpy(to, from, row_bytes);
    to += row_bytes;
  }
  const auto all = collectives::allgatherv(*group_, own, calls_);
  for (int rank = 0; rank < group_->world(); ++rank) {
    if (rank != group_->rank()) take(shared, rank, all[static_cast<std::size_t>(rank)]);
  }
}

void SharedTables::take(const Shared& shared, int rank, std::span<const std::byte> bytes) {
  const std::size_t row_bytes = shared.table.width * sizeof(float);
  const std::size_t count = bytes.size() / (sizeof(std::uint32_t) + row_bytes);
  const std::byte* weights = bytes.data() + count * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < count; ++i, weights += row_bytes) {
    std::uint32_t row = 0;
    std::memcpy(&row, bytes.data() + i * sizeof(row), sizeof(row));
    if (row >= shared.num_rows) {
      throw Error("training", "rank " + std::to_string(rank) + " sent row " + std::to_string(row) +
                                  " of table " + shared.table.name + ", which has " +
                                  std::to_string(shared.num_rows));
    }
    std::memcpy(shared.table.weights.data() + std::size_t{row} * shared.table.width, weights,
                row_bytes);
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
