// SPDX-License-Identifier: Apache-2.0
//
// A range is divided into parts of kPartValues, rows into parts of about as many values; the pool's
// workers take the next part when they are free.
#include "training/optimizer/optimizer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "common/error.h"
#include "common/huge_pages.h"
#include "common/raw_vector.h"
#include "tensor/sparse/coalesce.h"
#include "training/optimizer/kernels.h"

namespace tandem::training {
namespace {

constexpr std::size_t kPartValues = 1 << 15;
// From here on a copy is written past the caches, which would not hold it until it is read.
constexpr std::size_t kStreamValues = 1 << 21;

using Factors = std::variant<SgdFactors, AdamFactors, AdagradFactors, RowAdamFactors>;

struct Slot {
  StateSlot what;
  std::uint64_t first = 0;  // in values or rows of the parameter
  RawVector<float> values;
};

struct Entry {
  OptimizedParameter parameter;  // with its owned range
  std::vector<Slot> slots;

  std::uint64_t num_rows() const { return parameter.count / parameter.width; }
  std::uint64_t end() const { return parameter.owned_first + parameter.owned_count; }
  bool by_rows() const { return std::holds_alternative<RowwiseAdagrad>(parameter.rule); }
};

Factors all_factors(const UpdateRule& rule, const StepFactors& step) {
  check_step(step);
  return std::visit([&](const auto& one) { return Factors(factors_of(one, step)); }, rule);
}

void apply(const Factors& factors, const KernelValues& values, std::size_t count) {
  if (const auto* sgd = std::get_if<SgdFactors>(&factors)) apply_sgd(*sgd, values, count);
  if (const auto* adam = std::get_if<AdamFactors>(&factors)) apply_adam(*adam, values, count);
  if (const auto* rows = std::get_if<RowAdamFactors>(&factors)) {
    apply_row_adam(*rows, values, count);
  }
  if (const auto* adagrad = std::get_if<AdagradFactors>(&factors)) {
    apply_rowwise_adagrad(*adagrad, values, count);
  }
}

[[noreturn]] void refuse(const Entry& entry, const std::string& what) {
  throw Error("training", "parameter " + entry.parameter.name + ": " + what);
}

std::string range_text(std::uint64_t first, std::uint64_t end) {
  return "[" + std::to_string(first) + ", " + std::to_string(end) + ")";
}

void check_sizes(const Entry& entry, std::size_t weights, std::size_t gradient, std::size_t copy) {
  if (weights == gradient && (copy == 0 || copy == weights)) return;
  refuse(entry, std::to_string(weights) + " weights need as many gradients, not " +
                    std::to_string(gradient) + ", and as many bf16 values or none, not " +
                    std::to_string(copy));
}

void check_range(const Entry& entry, const RangeUpdate& range) {
  check_sizes(entry, range.weights.size(), range.gradient.size(), range.copy.size());
  const OptimizedParameter& p = entry.parameter;
  if (range.first < p.owned_first || range.first > entry.end() ||
      range.weights.size() > entry.end() - range.first) {
    refuse(entry, "values " + range_text(range.first, range.first + range.weights.size()) +
                      " are not in the owned range " + range_text(p.owned_first, entry.end()));
  }
  if (entry.by_rows() && (range.first % p.width != 0 || range.weights.size() % p.width != 0)) {
    refuse(entry, "values " + range_text(range.first, range.first + range.weights.size()) +
                      " are not whole rows of " + std::to_string(p.width));
  }
}

void check_rows(const Entry& entry, const RowsUpdate& rows) {
  const OptimizedParameter& p = entry.parameter;
  const auto* sgd = std::get_if<Sgd>(&p.rule);
  if (std::holds_alternative<Adam>(p.rule) || (sgd != nullptr && sgd->momentum != 0)) {
    refuse(entry, "the rule " + rule_name(p.rule) +
                      (sgd != nullptr ? " with momentum" : " (not row_adam)") +
                      " changes rows without a gradient too, so it takes no rows");
  }
  check_sizes(entry, rows.weights.size(), p.owned_count, rows.copy.size());
  if (rows.gradient.size() != rows.rows.size() * p.width) {
    refuse(entry, std::to_string(rows.rows.size()) + " rows of " + std::to_string(p.width) +
                      " need " + std::to_string(rows.rows.size() * p.width) +
                      " values of gradient, not " + std::to_string(rows.gradient.size()));
  }
  for (const std::uint32_t row : rows.rows) {
    const std::uint64_t first = std::uint64_t{row} * p.width;
    if (first >= p.owned_first && first + p.width <= entry.end()) continue;
    refuse(entry, "row " + std::to_string(row) + " is not in the owned values " +
                      range_text(p.owned_first, entry.end()) + ", in rows of " +
                      std::to_string(p.width));
  }
}

// Sorted rows, each once, and their gradients.
struct UniqueRows {
  std::span<const std::uint32_t> rows;
  std::span<const float> gradient;
};

// `sums` is the storage for the spans if rows had to be added.
UniqueRows unique_rows(const Entry& entry, const RowsUpdate& update, sparse::SparseVector& sums) {
  if (std::ranges::adjacent_find(update.rows, std::greater_equal<>()) == update.rows.end()) {
    return {update.rows, update.gradient};
  }
  sparse::CoalesceInput input;
  input.domain = {entry.num_rows(), entry.parameter.width};
  input.num_entries = update.rows.size();
  input.indices = update.rows.data();
  input.values = update.gradient.data();
  sums = sparse::coalesce(input, sparse::Reduction::kSum);
  return {std::as_const(sums).indices<std::uint32_t>(), std::as_const(sums).values<float>()};
}

// The kernel's view of `offset` values after the beginning of the owned range's arrays.
KernelValues values_at(Entry& entry, float* weights, std::uint16_t* copy, std::uint64_t offset) {
  KernelValues values;
  values.weights = weights;
  values.copy = copy;
  const std::uint64_t place = entry.by_rows() ? offset / entry.parameter.width : offset;
  if (!entry.slots.empty()) values.first = entry.slots[0].values.data() + place;
  if (entry.slots.size() > 1) values.second = entry.slots[1].values.data() + place;
  return values;
}

}  // namespace

class Optimizer::State {
 public:
  explicit State(ThreadPool& pool) : pool_(pool) {}

  std::uint32_t add(OptimizedParameter parameter);
  void update(const StepFactors& step, const RangeUpdate& range);
  void update_rows(const StepFactors& step, const RowsUpdate& rows);
  std::vector<StateView> views();
  std::uint64_t bytes() const;

 private:
  Entry& at(std::uint32_t number) {
    if (number < entries_.size()) return entries_[number];
    throw Error("training", "the optimiser has no parameter " + std::to_string(number) + ", only " +
                                std::to_string(entries_.size()));
  }
  void allocate(Entry& entry);

  ThreadPool& pool_;
  std::vector<Entry> entries_;
  std::map<std::string, std::uint32_t> by_name_;
};

std::uint32_t Optimizer::State::add(OptimizedParameter parameter) {
  check_rule(parameter.rule);
  if (parameter.owned_count == 0) parameter.owned_count = parameter.count;
  Entry entry{std::move(parameter), {}};
  const OptimizedParameter& p = entry.parameter;
  if (p.name.empty() || by_name_.contains(p.name)) refuse(entry, "the name is empty or taken");
  if (p.width == 0 || p.count == 0 || p.count % p.width != 0) {
    refuse(entry, std::to_string(p.count) + " values are not one or more rows of " +
                      std::to_string(p.width));
  }
  if (p.owned_first > p.count || p.owned_count > p.count - p.owned_first) {
    refuse(entry, "the owned range " + range_text(p.owned_first, p.owned_first + p.owned_count) +
                      " is not within " + std::to_string(p.count) + " values");
  }
  if (entry.by_rows() && (p.owned_first % p.width != 0 || p.owned_count % p.width != 0)) {
    refuse(entry, "the owned range " + range_text(p.owned_first, entry.end()) +
                      " does not consist of whole rows of " + std::to_string(p.width));
  }
  allocate(entry);
  const auto number = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back(std::move(entry));
  by_name_.emplace(entries_.back().parameter.name, number);
  return number;
}

void Optimizer::State::allocate(Entry& entry) {
  const OptimizedParameter& p = entry.parameter;
  for (const StateSlot& what : state_slots(p.rule)) {
    const std::uint32_t divisor = what.per_row ? p.width : 1;
    Slot slot{what, p.owned_first / divisor, RawVector<float>(p.owned_count / divisor)};
    advise_huge_pages(slot.values.data(), slot.values.size() * sizeof(float));
    const std::size_t parts = (slot.values.size() + kPartValues - 1) / kPartValues;
    pool_.run(parts, [&](std::size_t part) {
      const std::size_t begin = part * kPartValues;
      const std::size_t count = std::min(kPartValues, slot.values.size() - begin);
      std::fill_n(slot.values.data() + begin, count, what.initial);
    });
    entry.slots.push_back(std::move(slot));
  }
}

void Optimizer::State::update(const StepFactors& step, const RangeUpdate& range) {
  Entry& entry = at(range.parameter);
  check_range(entry, range);
  const Factors factors = all_factors(entry.parameter.rule, step);
  const std::size_t count = range.weights.size();
  const std::size_t width = entry.parameter.width;
  const std::uint64_t offset = range.first - entry.parameter.owned_first;
  // Rules of rows process a row at a time.
  const std::size_t unit = entry.by_rows() ? width : kPartValues;
  const std::size_t part_size = std::max<std::size_t>(1, kPartValues / unit) * unit;
  pool_.run((count + part_size - 1) / part_size, [&](std::size_t part) {
    const std::size_t end = std::min(count, (part + 1) * part_size);
    for (std::size_t begin = part * part_size; begin < end; begin += unit) {
      std::uint16_t* copy = range.copy.empty() ? nullptr : range.copy.data() + begin;
      KernelValues values = values_at(entry, range.weights.data() + begin, copy, offset + begin);
      values.gradient = range.gradient.data() + begin;
      values.stream = count >= kStreamValues && unit == kPartValues;
      apply(factors, values, std::min(unit, end - begin));
    }
  });
}

void Optimizer::State::update_rows(const StepFactors& step, const RowsUpdate& rows) {
  Entry& entry = at(rows.parameter);
  check_rows(entry, rows);
  const Factors factors = all_factors(entry.parameter.rule, step);
  sparse::SparseVector sums;
  const UniqueRows unique = unique_rows(entry, rows, sums);
  const std::size_t width = entry.parameter.width;
  const std::size_t part_rows = std::max<std::size_t>(1, kPartValues / 4 / width);
  const std::size_t count = unique.rows.size();
  pool_.run((count + part_rows - 1) / part_rows, [&](std::size_t part) {
    const std::size_t end = std::min(count, (part + 1) * part_rows);
    for (std::size_t i = part * part_rows; i < end; ++i) {
      const std::uint64_t offset =
          std::uint64_t{unique.rows[i]} * width - entry.parameter.owned_first;
      std::uint16_t* copy = rows.copy.empty() ? nullptr : rows.copy.data() + offset;
      KernelValues values = values_at(entry, rows.weights.data() + offset, copy, offset);
      values.gradient = unique.gradient.data() + i * width;
      apply(factors, values, width);
    }
  });
}

std::vector<StateView> Optimizer::State::views() {
  std::vector<StateView> all;
  for (Entry& entry : entries_) {
    for (Slot& slot : entry.slots) {
      all.push_back({entry.parameter.name + "/" + slot.what.name, slot.first, slot.values});
    }
  }
  return all;
}

std::uint64_t Optimizer::State::bytes() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_) {
    for (const Slot& slot : entry.slots) sum += slot.values.size() * sizeof(float);
  }
  return sum;
}

Optimizer::Optimizer(ThreadPool& pool) : state_(std::make_unique<State>(pool)) {}
Optimizer::~Optimizer() = default;

std::uint32_t Optimizer::add(const OptimizedParameter& parameter) { return state_->add(parameter); }

void Optimizer::update(const StepFactors& step, const RangeUpdate& range) {
  state_->update(step, range);
}

void Optimizer::update_rows(const StepFactors& step, const RowsUpdate& rows) {
  state_->update_rows(step, rows);
}

std::vector<StateView> Optimizer::state() { return state_->views(); }
std::uint64_t Optimizer::state_bytes() const { return state_->bytes(); }

}  // namespace tandem::training
