// SPDX-License-Identifier: Apache-2.0
//
// The arrays of the state are those of an Optimizer, which is also the fallback.
#include "training/offload/card_tables.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/raw_vector.h"

namespace tandem::training {
namespace {

using device::TableArrays;
using device::TableFactors;
using device::TableShape;
using device::TableUnit;

struct KnownTable {
  CardTable table;
  std::uint32_t number = 0;           // in the optimiser
  std::size_t first = 0, second = 0;  // indices in its state; 0 if the rule has none
  std::uint64_t num_rows = 0;
};

struct Card {
  std::unique_ptr<TableUnit> unit;
  CardStatistics statistics;
};

// The rows of a call that belong to one card, in their order, counted from its first row.
struct Share {
  RawVector<std::uint32_t> rows;
  RawVector<float> gradient;
};

device::TableRule card_rule(const UpdateRule& rule) {
  if (std::holds_alternative<RowwiseAdagrad>(rule)) return device::TableRule::kRowwiseAdagrad;
  if (std::holds_alternative<RowAdam>(rule)) return device::TableRule::kRowAdam;
  return device::TableRule::kSgd;
}

TableFactors card_factors(const SgdFactors& f) {
  TableFactors to;
  to.decay_mode = f.decay == 0 ? device::TableDecay::kNone : device::TableDecay::kL2;
  to.scale = f.scale;
  to.rate = f.rate;
  to.decay = f.decay;
  return to;
}

TableFactors card_factors(const AdagradFactors& f) {
  TableFactors to;
  constexpr device::TableDecay kModes[] = {device::TableDecay::kNone, device::TableDecay::kL2,
                                           device::TableDecay::kDecoupled};
  to.decay_mode = kModes[f.mode];
  to.scale = f.scale;
  to.rate = f.rate;
  to.decay = f.decay;
  to.epsilon = f.epsilon;
  return to;
}

TableFactors card_factors(const RowAdamFactors& f) {
  return {.scale = f.scale,
          .rate = f.rate,
          .decay = f.decay,
          .epsilon = f.epsilon,
          .beta1 = f.beta1,
          .rest1 = f.rest1,
          .beta2 = f.beta2,
          .rest2 = f.rest2,
          .correct1 = f.correct1,
          .correct2 = f.correct2};
}

TableFactors card_factors(const AdamFactors&) {
  throw Error("training", "the rule adam cannot update rows; use row_adam");
}

TableFactors factors_for_card(const UpdateRule& rule, const StepFactors& step) {
  return std::visit([&](const auto& one) { return card_factors(factors_of(one, step)); }, rule);
}

}  // namespace

class CardTables::State {
 public:
  State(std::vector<std::unique_ptr<TableUnit>> cards, ThreadPool& pool,
        const CardTablesOptions& options)
      : options_(options), pool_(pool), optimizer_(pool) {
    set_cards(std::move(cards));
  }

  std::uint32_t add(const CardTable& table);
  void load();
  void set_cards(std::vector<std::unique_ptr<TableUnit>> cards);
  void update_rows(const StepFactors& step, const CardRows& rows);
  std::vector<StateView> state() { return optimizer_.state(); }
  CardTablesStatistics statistics() const;

 private:
  std::uint64_t share_of(const KnownTable& known) const {
    return (known.num_rows + cards_.size() - 1) / cards_.size();
  }
  std::pair<std::uint64_t, std::uint64_t> range_of(const KnownTable& known, std::size_t card) const;
  TableArrays arrays_of(const KnownTable& known, std::size_t card);
  void load_card(std::size_t card);
  void check(const CardRows& rows) const;
  void divide(const KnownTable& known, const CardRows& rows);
  bool update_on(std::size_t card, const CardRows& rows, const TableFactors& factors);
  void apply_on_host(const StepFactors& step, const KnownTable& known, std::size_t card);
  void lose(Card& card, const std::string& reason);

  const CardTablesOptions options_;
  ThreadPool& pool_;
  Optimizer optimizer_;
  std::vector<Card> cards_;
  std::vector<KnownTable> known_;
  std::vector<StateView> views_;  // after load()
  std::vector<Share> shares_;     // by card
  std::uint64_t host_gradients_ = 0;
  bool loaded_ = false;
};

void CardTables::State::set_cards(std::vector<std::unique_ptr<TableUnit>> cards) {
  cards_.clear();
  for (auto& unit : cards) {
    Card card{std::move(unit), {}};
    card.statistics.name = card.unit->name();
    cards_.push_back(std::move(card));
  }
}

std::uint32_t CardTables::State::add(const CardTable& table) {
  if (loaded_) throw Error("training", "table " + table.name + " comes after load()");
  const auto* sgd = std::get_if<Sgd>(&table.rule);
  if (std::holds_alternative<Adam>(table.rule) || (sgd != nullptr && sgd->momentum != 0)) {
    throw Error("training", "table " + table.name + ": " + rule_name(table.rule) +
                                (sgd != nullptr ? " with momentum" : "") +
                                " changes rows without a gradient too; choose row_adam, "
                                "rowwise_adagrad, or sgd without momentum");
  }
  KnownTable known{table, 0, views_.size(), views_.size() + 1, 0};
  known.number = optimizer_.add({.name = table.name,
                                 .count = table.weights.size(),
                                 .width = table.width,
                                 .rule = table.rule});
  known.num_rows = table.weights.size() / table.width;
  views_ = optimizer_.state();
  known_.push_back(known);
  return static_cast<std::uint32_t>(known_.size() - 1);
}

// Rows [first, end) of a table are the card's.
std::pair<std::uint64_t, std::uint64_t> CardTables::State::range_of(const KnownTable& known,
                                                                    std::size_t card) const {
  const std::uint64_t share = share_of(known);
  return {std::min(known.num_rows, card * share), std::min(known.num_rows, (card + 1) * share)};
}

TableArrays CardTables::State::arrays_of(const KnownTable& known, std::size_t card) {
  const auto [first, end] = range_of(known, card);
  const std::uint64_t width = known.table.width;
  const auto rows = [&, first = first, end = end](std::span<float> all, std::uint64_t per_row) {
    return all.subspan(first * per_row, (end - first) * per_row);
  };
  TableArrays arrays;
  arrays.weights = rows(known.table.weights, width);
  const device::TableRule rule = card_rule(known.table.rule);
  if (rule == device::TableRule::kRowwiseAdagrad) {
    arrays.first = rows(views_[known.first].values, 1);
  } else if (rule == device::TableRule::kRowAdam) {
    arrays.first = rows(views_[known.first].values, width);
    arrays.second = rows(views_[known.second].values, width);
  }
  return arrays;
}

void CardTables::State::load() {
  loaded_ = true;
  shares_.resize(cards_.size());
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    if (!cards_[card].statistics.lost.empty()) continue;
    try {
      load_card(card);
    } catch (const DeviceError& error) {
      lose(cards_[card], error.what());
    }
  }
}

// A table with fewer rows than cards has no place on some.
void CardTables::State::load_card(std::size_t card) {
  std::vector<TableShape> shapes;
  std::vector<TableArrays> arrays;
  for (const KnownTable& known : known_) {
    const auto [first, end] = range_of(known, card);
    arrays.push_back(arrays_of(known, card));
    shapes.push_back({card_rule(known.table.rule), known.table.width, end - first});
  }
  cards_[card].unit->load(shapes, arrays, Deadline::after(options_.load_timeout));
}

void CardTables::State::check(const CardRows& rows) const {
  if (!loaded_) throw Error("training", "rows are updated before load(); call load() first");
  if (rows.table >= known_.size()) {
    throw Error("training", "there is no table " + std::to_string(rows.table));
  }
  const KnownTable& known = known_[rows.table];
  if (rows.gradient.size() != rows.rows.size() * known.table.width) {
    throw Error("training", "table " + known.table.name + ": " + std::to_string(rows.rows.size()) +
                                " rows of " + std::to_string(known.table.width) + " need " +
                                std::to_string(rows.rows.size() * known.table.width) +
                                " values of gradient, not " + std::to_string(rows.gradient.size()));
  }
  for (const std::uint32_t row : rows.rows) {
    if (row < known.num_rows) continue;
    throw Error("training", "table " + known.table.name + " has no row " + std::to_string(row) +
                                ", only " + std::to_string(known.num_rows));
  }
}

void CardTables::State::divide(const KnownTable& known, const CardRows& rows) {
  for (Share& share : shares_) {
    share.rows.clear();
    share.gradient.clear();
  }
  const std::uint64_t per_card = share_of(known);
  const std::uint32_t width = known.table.width;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::uint64_t card = rows.rows[i] / per_card;
    Share& share = shares_[card];
    share.rows.push_back(static_cast<std::uint32_t>(rows.rows[i] - card * per_card));
    const auto gradient = rows.gradient.subspan(i * width, width);
    share.gradient.insert(share.gradient.end(), gradient.begin(), gradient.end());
  }
}

void CardTables::State::update_rows(const StepFactors& step, const CardRows& rows) {
  check(rows);
  check_step(step);
  const KnownTable& known = known_[rows.table];
  if (cards_.empty()) {
    optimizer_.update_rows(step, {.parameter = known.number,
                                  .rows = rows.rows,
                                  .gradient = rows.gradient,
                                  .weights = known.table.weights,
                                  .copy = {}});
    host_gradients_ += rows.rows.size();
    return;
  }
  divide(known, rows);
  const TableFactors factors = factors_for_card(known.table.rule, step);
  std::vector<char> done(cards_.size(), 0);
  pool_.run(cards_.size(),
            [&](std::size_t card) { done[card] = update_on(card, rows, factors) ? 1 : 0; });
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    if (done[card] == 0) apply_on_host(step, known, card);
  }
}

bool CardTables::State::update_on(std::size_t index, const CardRows& rows,
                                  const TableFactors& factors) {
  Card& card = cards_[index];
  const Share& share = shares_[index];
  if (share.rows.empty()) return true;
  if (!card.statistics.lost.empty()) return false;
  try {
    const device::TableReport report = card.unit->update(
        {rows.table, share.rows, share.gradient, factors}, arrays_of(known_[rows.table], index),
        Deadline::after(options_.update_timeout));
    card.statistics.updated_rows += report.updated_rows;
    card.statistics.modelled_seconds += report.modelled_seconds;
    return true;
  } catch (const Error& error) {  // in either case the host no longer has the current rows
    lose(card, error.what());
    return false;
  }
}

void CardTables::State::apply_on_host(const StepFactors& step, const KnownTable& known,
                                      std::size_t card) {
  Share& share = shares_[card];
  const auto first = static_cast<std::uint32_t>(range_of(known, card).first);
  for (std::uint32_t& row : share.rows) row += first;
  optimizer_.update_rows(step, {.parameter = known.number,
                                .rows = share.rows,
                                .gradient = share.gradient,
                                .weights = known.table.weights,
                                .copy = {}});
  host_gradients_ += share.rows.size();
}

void CardTables::State::lose(Card& card, const std::string& reason) {
  card.statistics.lost = reason;
  spdlog::warn("[training] host memory takes over the tables of {}: {}", card.statistics.name,
               reason);
}

CardTablesStatistics CardTables::State::statistics() const {
  CardTablesStatistics all;
  for (const Card& card : cards_) all.cards.push_back(card.statistics);
  all.host_gradients = host_gradients_;
  return all;
}

CardTables::CardTables(std::vector<std::unique_ptr<TableUnit>> cards, ThreadPool& pool,
                       const CardTablesOptions& options)
    : state_(std::make_unique<State>(std::move(cards), pool, options)) {}
CardTables::~CardTables() = default;

std::uint32_t CardTables::add(const CardTable& table) { return state_->add(table); }
void CardTables::load() { state_->load(); }
void CardTables::set_cards(std::vector<std::unique_ptr<TableUnit>> cards) {
  state_->set_cards(std::move(cards));
}
void CardTables::update_rows(const StepFactors& step, const CardRows& rows) {
  state_->update_rows(step, rows);
}
std::vector<StateView> CardTables::state() { return state_->state(); }
CardTablesStatistics CardTables::statistics() const { return state_->statistics(); }

}  // namespace tandem::training
