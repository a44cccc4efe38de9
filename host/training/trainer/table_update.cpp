// SPDX-License-Identifier: Apache-2.0
//
// Tables keep the task's order.
#include "training/trainer/table_update.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <limits>
#include <set>
#include <utility>

#include "training/trainer/dense_update.h"
#include "training/trainer/offload_choice.h"

namespace tandem::training {

TableUpdate::TableUpdate(collectives::Group* group, TrainingTask& task,
                         const TableUpdateOptions& options)
    : task_(task),
      options_(options),
      pool_(options.threads),
      tables_(group, options.make_cards && !options.try_cards ? options.make_cards() : TableCards(),
              pool_, {.update_timeout = options.card_timeout}, {.timeout = options.timeout}) {
  for (const TrainedTable& table : task.tables()) {
    tables_.add({table.name, table.width, options.rule, table.weights});
  }
  if (!options.try_cards) return;
  const auto take = [this] {
    tables_.set_cards(options_.make_cards());
    tables_.load();
  };
  trial_.emplace(group, options.timeout,
                 CardTrialParts{take, [this] { tables_.set_cards({}); },
                                [this] { return tables_.update_seconds(); },
                                [this] { return predicted_on_cards(); }});
}

TableUpdate::~TableUpdate() {
  for (const CardStatistics& card : statistics().cards) {
    spdlog::info("{} updated {} rows in {:.3g} ms by its model", card.name, card.updated_rows,
                 card.modelled_seconds * 1e3);
  }
}

// Cards that are missing or cannot be opened are not an error if the run did not name them.
double TableUpdate::predicted_on_cards() const {
  try {
    return predict().offload_s;
  } catch (const std::exception& error) {
    spdlog::warn("{}; --offload auto continues without cards", error.what());
    return std::numeric_limits<double>::infinity();
  }
}

// The rows of this rank before they are divided over ranks.
OffloadPrediction TableUpdate::predict() const {
  OffloadPrediction no_cards;
  no_cards.offload_s = std::numeric_limits<double>::infinity();
  const CardFacts facts = options_.card_facts ? options_.card_facts() : CardFacts();
  if (facts.cards == 0) return no_cards;
  std::vector<RowOffloadCosts> tables;
  for (std::size_t table = 0; table < task_.tables().size(); ++table) {
    const auto rows = task_.table_gradient(table).rows;
    RowOffloadCosts costs;
    costs.inputs = static_cast<double>(rows.size());
    costs.rows = static_cast<double>(std::set<std::uint32_t>(rows.begin(), rows.end()).size());
    costs.width = task_.tables()[table].width;
    for (const StateSlot& slot : state_slots(options_.rule)) {
      costs.state_values += slot.per_row ? 1 : costs.width;
    }
    costs.cards = facts.cards;
    costs.link_bytes_per_s = facts.link_bytes_per_s;
    tables.push_back(costs);
  }
  return predict_rows(std::move(tables), options_.threads);
}

double TableUpdate::sum_gradients() {
  std::vector<CardRows> rows;
  for (std::uint32_t table = 0; table < task_.tables().size(); ++table) {
    const TableGradient gradient = task_.table_gradient(table);
    rows.push_back({table, gradient.rows, gradient.values});
  }
  return tables_.sum(std::move(rows));
}

void TableUpdate::apply(const StepFactors& step) {
  if (trial_) {
    trial_->before_update();
  } else if (!std::exchange(predicted_, true) && !statistics().cards.empty()) {
    const OffloadPrediction prediction = predict();
    spdlog::info("by the cost model {}: {} would be faster", prediction.reason,
                 prediction.place == OffloadPlace::kCards ? "the cards" : "host memory");
  }
  tables_.update(step);
  if (trial_) trial_->after_update();
}

std::vector<TensorPlace> state_places(const TrainingTask& task, const UpdateRule& rule) {
  std::vector<TensorPlace> places;
  for (const TrainedTable& table : task.tables()) {
    add_state_places(table.name, table.weights.size(), table.width, rule, places);
  }
  return places;
}

}  // namespace tandem::training
