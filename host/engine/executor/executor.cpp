// SPDX-License-Identifier: Apache-2.0
//
// The loop over layers and sub-batches.
//
// stage(layer, sub_batch): collect the attention of layer-1, finish layer-1, project layer, launch
// its attention. Run alternately for both sub-batches, that is a two-stage pipeline: between launch
// and collection of one, the compute unit works for the other.
#include "engine/executor/executor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/error.h"
#include "engine/attention/attention_exchange.h"
#include "engine/executor/dense_layers.h"
#include "engine/steps/step_rows.h"

namespace tandem::engine {
namespace {

using device::Slice;

double seconds_of(std::size_t bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s : 0;
}

}  // namespace

struct Executor::State {
  // `owned`: null, or the compute unit itself.
  State(const model::Model& model, std::unique_ptr<device::ComputeUnit> owned,
        device::ComputeUnit& compute, const ExecutorOptions& options);

  void add_unit(device::AttentionUnit& unit, const std::string& id);
  void replace_unit(int unit, device::AttentionUnit& with) { exchange_.replace_unit(unit, with); }
  std::vector<int> run(std::span<const RunnerItem> items, const LogitsSink& logits,
                       const TokenSink& tokens);

  device::ComputeUnit& compute() const { return queue_.unit(); }
  const LoadedWeights& weights() const { return dense_.weights(); }
  bool samples() const { return device::supports<device::SampleOp>(queue_.unit()); }
  std::vector<int> take_lost() { return exchange_.take_lost(); }
  bool is_silent(int unit) const { return exchange_.is_silent(unit); }
  bool holds_lent() const { return exchange_.holds_lent(); }
  StepWays ways() const { return {exchange_.ways(), dense_.key_value_share()}; }
  void choose_way(const StepWay& way) { exchange_.choose_way(way); }
  // False on devices with a queue: there all layers of a step are enqueued long before they run.
  bool follows_rows() const { return queue_.is_host_memory(); }
  std::optional<StepTimes> last_times() {
    return queue_.is_host_memory() ? std::optional(queue_.times()) : std::nullopt;
  }

  std::function<bool()> interrupts;  // may be empty

 private:
  bool run_layers();
  bool is_interrupted_before(int layer) const;
  bool stage(int layer, std::size_t index);
  RowRange range_of(std::size_t index) const;
  bool deliver(std::span<const RunnerItem> items, const LogitsSink& logits,
               const TokenSink& tokens);
  bool deliver_logits(std::span<const LogitRow> block, const LogitsSink& sink);
  bool deliver_tokens(std::span<const RunnerItem> items, std::span<const LogitRow> block,
                      const TokenSink& sink);
  std::size_t padded(std::size_t num_logits) const;
  Slice compute_logits(std::span<const LogitRow> block);

  const std::unique_ptr<device::ComputeUnit> owned_;  // first: all that follows uses it
  const model::ModelConfig& config_;
  const ExecutorOptions options_;
  const std::size_t vocab_;
  const bool pads_;  // false with experts: a row added would read experts for nothing
  StepTrace trace_;
  ComputeQueue queue_;
  DenseLayers dense_;
  AttentionExchange exchange_;
  std::unique_ptr<device::Buffer> tokens_;  // [max_logit_rows] int32, where the unit samples

  // Of the current step.
  StepRows rows_;
  std::vector<LogitRow> sampled_, shown_;
  std::vector<std::int32_t> block_rows_;
  std::vector<device::SampleRow> sample_rows_;
};

Executor::State::State(const model::Model& model, std::unique_ptr<device::ComputeUnit> owned,
                       device::ComputeUnit& compute, const ExecutorOptions& options)
    : owned_(std::move(owned)),
      config_(model.config()),
      options_(options),
      vocab_(static_cast<std::size_t>(config_.vocab_size)),
      pads_(config_.experts.count == 0),
      trace_(options.timeline, options.compute_id),
      queue_(compute, trace_),
      dense_(model, queue_, options.weights, static_cast<std::size_t>(options.max_rows),
             static_cast<std::size_t>(options.max_logit_rows)),
      exchange_(config_, queue_, options_,
                seconds_of(dense_.key_value_bytes(), options.compute_bandwidth_bytes_per_s)) {
  if (!device::supports<device::SampleOp>(compute)) return;
  tokens_ =
      compute.allocate(static_cast<std::size_t>(options.max_logit_rows) * sizeof(std::int32_t),
                       device::MemoryKind::kHost);
}

void Executor::State::add_unit(device::AttentionUnit& unit, const std::string& id) {
  const bool has_own_thread = exchange_.add_unit(unit);
  trace_.add_unit(id, has_own_thread);
}

std::vector<int> Executor::State::run(std::span<const RunnerItem> items, const LogitsSink& logits,
                                      const TokenSink& tokens) {
  if (exchange_.has_lost()) return exchange_.take_lost();  // found during the last error
  trace_.at(-1, -1);
  try {
    rows_.assign(items, options_.page_tokens, pads_ ? &queue_.unit() : nullptr,
                 static_cast<std::size_t>(options_.max_rows));
    TANDEM_CHECK_OP(rows_.ids().size(), <=, static_cast<std::size_t>(options_.max_rows));
    exchange_.begin(rows_);
    queue_.times() = {};
    bool complete = run_layers();
    if (complete) {
      const double dense = queue_.times().dense;
      const auto begin = StepTrace::Clock::now();
      complete = deliver(items, logits, tokens);
      const std::chrono::duration<double> sampling = StepTrace::Clock::now() - begin;
      queue_.times().dense = dense;  // the output projection is a part of the sampling
      queue_.times().sampling = sampling.count();
    }
    if (!complete) {
      exchange_.abort();
      queue_.sync();
    }
  } catch (...) {
    exchange_.abort();
    throw;
  }
  return exchange_.take_lost();
}

// Not in the last quarter, where the rest takes less time than to begin again.
bool Executor::State::is_interrupted_before(int layer) const {
  if (!interrupts || !follows_rows()) return false;
  return layer > 0 && layer * 4 <= config_.num_layers * 3 && interrupts();
}

bool Executor::State::run_layers() {
  dense_.embed(rows_.ids());
  for (int layer = 0; layer <= config_.num_layers; ++layer) {
    if (is_interrupted_before(layer)) return false;
    for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
      if (rows_.sub_batch(i).num_rows == 0) continue;
      trace_.at(layer, static_cast<int>(i));
      const trace::Span span = trace_.engine("layer");
      if (!stage(layer, i)) return false;
    }
  }
  trace_.at(-1, -1);
  return true;
}

RowRange Executor::State::range_of(std::size_t index) const {
  return {rows_.sub_batch(index).row_begin, rows_.sub_batch(index).num_rows};
}

bool Executor::State::stage(int layer, std::size_t index) {
  if (layer > 0) {
    if (!exchange_.collect(index)) return false;
    dense_.finish(layer - 1, range_of(index), exchange_.merge({layer - 1, index}));
  }
  if (layer == config_.num_layers) return true;
  const StepPlace place{layer, index};
  const RowRange range = range_of(index);
  const auto positions = rows_.positions().subspan(range.begin, range.count);
  const Projections to = exchange_.projections(index);
  if (exchange_.queries_go_first(place)) {
    dense_.project_queries(layer, range, positions, to.q);
    if (!exchange_.send_queries(place)) return false;
    dense_.project_keys_values(layer, range, positions, to);
  } else {
    dense_.project(layer, range, positions, to);
  }
  return exchange_.launch(place);
}

// False when a unit in the compute unit's queue is lost: no sink has been called then.
bool Executor::State::deliver(std::span<const RunnerItem> items, const LogitsSink& logits,
                              const TokenSink& tokens) {
  sampled_.clear();
  shown_.clear();
  for (const LogitRow& row : rows_.logit_rows()) {
    (items[row.item].sample ? sampled_ : shown_).push_back(row);
  }
  if (rows_.logit_rows().empty()) {
    queue_.sync();
    return exchange_.finish();
  }
  const auto most = static_cast<std::size_t>(options_.max_logit_rows);
  for (const bool samples : {true, false}) {
    std::span<const LogitRow> left = samples ? sampled_ : shown_;
    while (!left.empty()) {
      const auto block = left.first(std::min(most, left.size()));
      left = left.subspan(block.size());
      if (!(samples ? deliver_tokens(items, block, tokens) : deliver_logits(block, logits))) {
        return false;
      }
    }
  }
  return true;
}

// How many rows of logits are computed for `num_logits`.
std::size_t Executor::State::padded(std::size_t num_logits) const {
  if (!rows_.is_padded()) return num_logits;
  return std::min(queue_.unit().padded_rows(num_logits),
                  static_cast<std::size_t>(options_.max_logit_rows));
}

Slice Executor::State::compute_logits(std::span<const LogitRow> block) {
  block_rows_.clear();
  for (const LogitRow& row : block) block_rows_.push_back(row.step_row);
  block_rows_.resize(padded(block.size()), block.back().step_row);
  return dense_.logits(block_rows_);
}

// Copies the padding as well: with a copy of another size, a unit that records the launches of a
// step would take it for another step.
bool Executor::State::deliver_logits(std::span<const LogitRow> block, const LogitsSink& sink) {
  const Slice logits = dense_.on_host(compute_logits(block), padded(block.size()));
  queue_.sync();
  if (!exchange_.finish()) return false;
  const std::span<const float> all = device::host_floats(logits, block.size() * vocab_);
  for (std::size_t i = 0; i < block.size(); ++i) {
    sink(block[i].item, block[i].row, all.subspan(i * vocab_, vocab_));
  }
  return true;
}

bool Executor::State::deliver_tokens(std::span<const RunnerItem> items,
                                     std::span<const LogitRow> block, const TokenSink& sink) {
  const Slice logits = compute_logits(block);
  sample_rows_.clear();
  for (const LogitRow& row : block) sample_rows_.push_back(*items[row.item].sample);
  sample_rows_.resize(padded(block.size()));
  queue_.enqueue(device::SampleOp{sample_rows_, static_cast<std::int64_t>(vocab_), logits,
                                  Slice{tokens_.get(), 0}});
  queue_.sync();
  if (!exchange_.finish()) return false;
  const auto* tokens = reinterpret_cast<const std::int32_t*>(tokens_->host().data());
  for (std::size_t i = 0; i < block.size(); ++i) sink(block[i].item, tokens[i]);
  return true;
}

Executor::Executor(const model::Model& model, device::ComputeUnit& compute,
                   const ExecutorOptions& options)
    : state_(std::make_unique<State>(model, nullptr, compute, options)) {}
Executor::Executor(const model::Model& model, std::unique_ptr<device::ComputeUnit> compute,
                   const ExecutorOptions& options) {
  device::ComputeUnit& unit = *compute;
  state_ = std::make_unique<State>(model, std::move(compute), unit, options);
}
Executor::~Executor() = default;

const LoadedWeights& Executor::weights() const { return state_->weights(); }

void Executor::add_unit(device::AttentionUnit& unit, const std::string& id) {
  state_->add_unit(unit, id);
}

void Executor::replace_unit(int unit, device::AttentionUnit& with) {
  state_->replace_unit(unit, with);
}

bool Executor::shares_queue_with(const device::AttentionUnit& unit) const {
  return unit.works_in_queue_of(state_->compute());
}

bool Executor::samples() const { return state_->samples(); }

std::vector<int> Executor::take_lost() { return state_->take_lost(); }

bool Executor::is_silent(int unit) const { return state_->is_silent(unit); }

bool Executor::follows_rows() const { return state_->follows_rows(); }

void Executor::interrupt_when(std::function<bool()> interrupts) {
  state_->interrupts = std::move(interrupts);
}

StepWays Executor::ways() const { return state_->ways(); }

void Executor::choose_way(const StepWay& way) { state_->choose_way(way); }

bool Executor::holds_lent() const { return state_->holds_lent(); }

device::ComputeStats Executor::stats() const { return state_->compute().stats(); }

std::optional<StepTimes> Executor::last_times() const { return state_->last_times(); }

std::vector<int> Executor::run(std::span<const RunnerItem> items, const LogitsSink& logits,
                               const TokenSink& tokens) {
  return state_->run(items, logits, tokens);
}

ExecutorSource::ExecutorSource(const model::Model& model, device::ComputeUnit& compute,
                               ExecutorOptions options)
    : model_(model), compute_(compute), options_(std::move(options)) {}

ExecutorSource::ExecutorSource(const model::Model& model,
                               std::unique_ptr<device::ComputeUnit> compute,
                               ExecutorOptions options)
    : model_(model), owned_(std::move(compute)), compute_(*owned_), options_(std::move(options)) {}

std::unique_ptr<StepRunner> ExecutorSource::make(const StepShape& shape) {
  options_.max_rows = shape.max_rows;
  options_.max_logit_rows = std::min(shape.max_rows, kMaxLogitRows);
  options_.page_tokens = shape.page_tokens;
  options_.kv_dtype = shape.kv_dtype;
  if (owned_) return std::make_unique<Executor>(model_, std::move(owned_), options_);
  return std::make_unique<Executor>(model_, compute_, options_);
}

}  // namespace tandem::engine
