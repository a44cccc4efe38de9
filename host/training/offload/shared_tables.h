// SPDX-License-Identifier: Apache-2.0
//
// SharedTables: embedding tables that the ranks share. Each rank sums and updates its own rows, on
// its cards or in host memory. All ranks receive the new rows.
//
// With n ranks, rank r owns rows [r * ceil(N / n), (r + 1) * ceil(N / n)) of a table of N rows, and
// has state only for these. Tables of the same width share messages. Numerics: the same bits on
// every rank, with and without cards. Errors: Error for invalid arguments; TransportError of the
// group. Ownership: borrows the group, the pool and weights. Threads: one at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/collective.h"
#include "tensor/sparse/sparse_vector.h"
#include "training/offload/card_tables.h"

namespace tandem::training {

// SharedTables tables(&group, std::move(cards), pool, options);
// const auto users = tables.add({.name = "users", .width = 64, .rule = RowwiseAdagrad{},
//                                .weights = weights});            // all rows, on every rank
// tables.load();
// tables.sum({{.table = users, .rows = rows, .gradient = gradient}});
// tables.update(step);
class SharedTables {
 public:
  // group: null for a single rank.
  SharedTables(collectives::Group* group, std::vector<std::unique_ptr<device::TableUnit>> cards,
               ThreadPool& pool, const CardTablesOptions& options,
               const collectives::CallOptions& calls = {});

  // As CardTables::add(), with all rows.
  std::uint32_t add(const CardTable& table);
  void load() { tables_.load(); }
  void set_cards(std::vector<std::unique_ptr<device::TableUnit>> cards) {
    tables_.set_cards(std::move(cards));
  }

  // Collective: sends the gradients of rows to the owners of the rows. Each rank passes its own
  // rows, possibly none, each table at most once, and keeps them valid until update(). The
  // gradients of a row are added within a rank in the order of its list, then over ranks in their
  // order. Returns the squared norm of all sums.
  double sum(std::vector<CardRows> rows);
  // Collective, after sum(). `step` scales the sums; for a mean, gradient_scale is 1 / n.
  void update(const StepFactors& step);

  // The state of this rank's rows; `first` counts from the table's first row or value.
  std::vector<StateView> state();
  CardTablesStatistics statistics() const { return tables_.statistics(); }
  // The time of the last update() without its messages.
  double update_seconds() const { return update_seconds_; }

 private:
  struct Shared {
    CardTable table;
    std::uint64_t num_rows = 0, share = 0, first_row = 0, end_row = 0;
    std::uint64_t offset = 0;          // of its rows among all rows of an owner in the bundle
    std::optional<std::uint32_t> own;  // in tables_, if this rank has rows
  };
  // Tables of one width. The sums are indexed by row: owner * share + offset + the owner's row.
  struct Bundle {
    std::uint32_t width = 1;
    std::uint64_t share = 0;  // number of rows of an owner
    std::vector<std::uint32_t> tables;
    collectives::SparseTensor sums;
  };

  std::uint64_t world() const;
  std::uint64_t rank() const;
  void put_in_bundle(std::uint32_t table);
  void sum(Bundle& bundle);
  double sum_alone();
  double squares() const;
  void update_own(const StepFactors& step);
  void update(const StepFactors& step, const Bundle& bundle);
  void gather(const Bundle& bundle);
  void take(const Bundle& bundle, std::uint64_t owner, std::span<const std::byte> bytes);
  const Shared& table_at(const Bundle& bundle, std::uint64_t place) const;

  collectives::Group* const group_;
  const collectives::CallOptions calls_;
  CardTables tables_;
  std::vector<Shared> shared_;
  std::vector<Bundle> bundles_;
  std::vector<CardRows> rows_;             // of the last sum()
  std::deque<sparse::SparseVector> sums_;  // single rank only: the storage that rows_ refers to
  double update_seconds_ = 0;
};

}  // namespace tandem::training
