// SPDX-License-Identifier: Apache-2.0
//
// SharedTables: embedding tables that the ranks share. Each rank sums and updates its rows, on its
// cards or in host memory, and all ranks get the new rows.
//
// Rank r owns rows [r * ceil(N / n), (r + 1) * ceil(N / n)) of a table of N rows, n ranks, and has
// state for these only. Numerics: the same bits on every rank, with and without cards. Errors:
// Error for arguments that do not fit; TransportError of the group. Ownership: borrows the group,
// the pool and weights. Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/collective.h"
#include "training/offload/card_tables.h"

namespace tandem::training {

// SharedTables tables(&group, std::move(cards), pool, options);
// const auto users = tables.add({.name = "users", .width = 64, .rule = RowwiseAdagrad{},
//                                .weights = weights});            // all rows, on every rank
// tables.load();
// tables.update_rows(step, {.table = users, .rows = rows, .gradient = gradient});
class SharedTables {
 public:
  // group: null for a single rank.
  SharedTables(collectives::Group* group, std::vector<std::unique_ptr<device::TableUnit>> cards,
               ThreadPool& pool, const CardTablesOptions& options,
               const collectives::CallOptions& calls = {});

  // As CardTables::add(), with all rows.
  std::uint32_t add(const CardTable& table);
  void load() { tables_.load(); }
  // Collective: all ranks call it for the same tables in the same order. Each passes rows of its
  // own, possibly none. Gradients of a row are summed within a rank in the order of its list, then
  // over ranks in their order. `step` scales the sum: for a mean, gradient_scale is 1 / n.
  void update_rows(const StepFactors& step, const CardRows& rows);

  // Of the rows of this rank; `first` counts from the table's first row or value.
  std::vector<StateView> state();
  CardTablesStatistics statistics() const { return tables_.statistics(); }

 private:
  struct Shared {
    CardTable table;
    std::uint64_t num_rows = 0, first_row = 0, end_row = 0;
    std::optional<std::uint32_t> own;  // in tables_, where this rank has rows
  };

  void gather(const Shared& shared, std::span<const std::uint32_t> rows);
  void take(const Shared& shared, int rank, std::span<const std::byte> bytes);

  collectives::Group* const group_;
  const collectives::CallOptions calls_;
  CardTables tables_;
  std::vector<Shared> shared_;
};

}  // namespace tandem::training
