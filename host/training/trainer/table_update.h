// SPDX-License-Identifier: Apache-2.0
//
// TableUpdate: sums the gradients of a task's embedding tables over ranks, and updates the rows.
//
// A rank owns a part of every table's rows and the optimiser's state of these, in host memory or on
// cards. The gradients of a row are sent to its owner; every rank receives the new rows. Cards do
// not change any bit, even if one is lost. With cards, the log says after the first step which
// place the cost model prefers, and at the end what the cards did. Ownership: borrows group and
// task; owns the cards. Threads: one. Errors: load() throws Error with the bytes for a card that is
// too small; TransportError.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "training/offload/cost_model.h"
#include "training/offload/shared_tables.h"
#include "training/trainer/card_trial.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/training_task.h"

namespace tandem::training {

using TableCards = std::vector<std::unique_ptr<device::TableUnit>>;

struct CardFacts {
  int cards = 0;
  double link_bytes_per_s = 0;  // of the slowest card; 0: unknown
};

struct TableUpdateOptions {
  UpdateRule rule = RowwiseAdagrad{};
  int threads = 1;
  std::chrono::milliseconds timeout{60'000};  // limit of a call between ranks
  std::chrono::milliseconds card_timeout{10'000};
  std::function<TableCards()> make_cards;  // opens the cards; empty: host memory
  std::function<CardFacts()> card_facts;   // the figures of the cards of make_cards()
  bool try_cards = false;                  // uses the cards only if they are faster: CardTrial
};

class TableUpdate {
 public:
  TableUpdate(collectives::Group* group, TrainingTask& task, const TableUpdateOptions& options);

  ~TableUpdate();
  TableUpdate(const TableUpdate&) = delete;
  TableUpdate& operator=(const TableUpdate&) = delete;

  // Call it after weights or state were read from a file, and before the first step.
  void load() { tables_.load(); }
  // Collective: sends the gradients of this step to the owners of the rows. Returns the squared
  // norm of their sums, over all tables and ranks.
  double sum_gradients();
  // Collective, after sum_gradients(). step: scales the sums.
  void apply(const StepFactors& step);

  std::vector<StateView> state() { return tables_.state(); }
  CardTablesStatistics statistics() const { return tables_.statistics(); }

 private:
  OffloadPrediction predict() const;
  double predicted_on_cards() const;

  TrainingTask& task_;
  const TableUpdateOptions options_;
  bool predicted_ = false;
  ThreadPool pool_;
  SharedTables tables_;
  std::optional<CardTrial> trial_;
};

std::vector<TensorPlace> state_places(const TrainingTask& task, const UpdateRule& rule);

}  // namespace tandem::training
