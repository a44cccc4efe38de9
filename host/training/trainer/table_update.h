// SPDX-License-Identifier: Apache-2.0
//
// TableUpdate: sums the gradients of a task's embedding tables over ranks, and updates the rows.
//
// A rank owns a part of every table's rows, and the optimiser's state of these, in host memory or
// on cards. The gradients of a row go to its owner; every rank gets the new rows. Cards change no
// bit, also when one is lost. With cards, the log says after the first step which place the cost
// model prefers, and at the end what the cards did. Ownership: borrows group and task; owns the
// cards. Threads: one. Errors: Error of load() for a card that is too small, with the bytes;
// TransportError.
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
  double link_bytes_per_s = 0;  // of the slowest; 0: unknown
};

struct TableUpdateOptions {
  UpdateRule rule = RowwiseAdagrad{};
  int threads = 1;
  std::chrono::milliseconds timeout{60'000};  // of a call over ranks
  std::chrono::milliseconds card_timeout{10'000};
  std::function<TableCards()> make_cards;  // opens them; empty: host memory
  std::function<CardFacts()> card_facts;   // of what make_cards() gives
  bool try_cards = false;                  // opens them only where they are faster: CardTrial
};

class TableUpdate {
 public:
  TableUpdate(collectives::Group* group, TrainingTask& task, const TableUpdateOptions& options);

  ~TableUpdate();
  TableUpdate(const TableUpdate&) = delete;
  TableUpdate& operator=(const TableUpdate&) = delete;

  // After weights or state were read from elsewhere, and before the first step.
  void load() { tables_.load(); }
  // Collective: the gradients of this step go to the owners of the rows. Returns the square of the
  // norm of their sums, over all tables and ranks.
  double sum_gradients();
  // Collective, after sum_gradients(). step: of the sums.
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
