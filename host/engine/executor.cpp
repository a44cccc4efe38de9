// SPDX-License-Identifier: Apache-2.0
//
// Executor: the loop over layers and sub-batches.
//
// stage(layer, sub_batch) = collect the attention of layer-1, finish layer-1, project layer, launch
// its attention. Run alternately for both sub-batches, that is the two-stage pipeline: between the
// launch and the collection of one, the compute unit works for the other. Units behind a link are
// launched first and collected last, since a unit in host memory may do its work inside wait().
// What units borrow (q, k, v, their results, the lists of the layouts) is one object, LentBuffers,
// so that it can be set aside whole after a timeout.
#include "engine/executor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/error.h"
#include "engine/dense_layers.h"
#include "engine/lent_buffers.h"
#include "engine/step_rows.h"

namespace tandem::engine {
namespace {

using device::Buffer;
using device::MemoryKind;
using device::Slice;
using device::WaitResult;

// A dense stage that takes longer than this has hung.
constexpr auto kComputeTimeout = std::chrono::minutes(10);

struct Unit {
  device::AttentionUnit* unit = nullptr;
  bool alive = true;
  bool stuck = false;  // timed out: it still has what it was lent
  bool has_link = false;
};

struct SubBatch {
  const SubBatchRows* rows = nullptr;
  std::vector<std::pair<int, device::Ticket>> in_flight;  // unit, ticket
  RowRange range() const { return {rows->row_begin, rows->num_rows}; }
};

// The windows that a model's layers have: one layout serves all layers of a window.
struct LayerWindows {
  explicit LayerWindows(const model::ModelConfig& config) {
    for (int layer = 0; layer < config.num_layers; ++layer) {
      int window = config.window_of(layer);
      if (window >= config.context_length) window = 0;  // nothing is ever outside
      const auto found = std::ranges::find(distinct, window);
      index_of.push_back(static_cast<std::size_t>(found - distinct.begin()));
      if (found == distinct.end()) distinct.push_back(window);
    }
  }
  int of(int layer) const { return distinct[index_of[static_cast<std::size_t>(layer)]]; }

  std::vector<int> distinct;
  std::vector<std::size_t> index_of;  // [num_layers]
};

}  // namespace

struct Executor::State {
  State(const model::Model& model, device::ComputeUnit& compute, const ExecutorOptions& options);

  void add_unit(device::AttentionUnit& unit);
  std::vector<int> run(std::span<const ExecutorItem> items, const LogitsSink& sink);

  const LoadedWeights& weights() const { return dense_.weights(); }

 private:
  std::unique_ptr<LentBuffers> make_lent();
  bool run_layers();
  void prepare(std::span<const ExecutorItem> items);
  bool stage(int layer, std::size_t index);
  void project(int layer, const SubBatch& sub_batch);
  const AttentionLayout& layout_of(int layer, std::size_t index) const;
  bool launch(int layer, SubBatch& sub_batch, const AttentionLayout& layout);
  bool submit(const UnitShare& share, device::AttentionBatch& batch, SubBatch& sub_batch);
  void attend_inside_chunks(int layer, const SubBatch& sub_batch, const AttentionLayout& layout);
  bool collect(SubBatch& sub_batch);
  Slice merge(const SubBatch& sub_batch, const AttentionLayout& layout);
  void compute_logits(const LogitsSink& sink);
  void lose(int index);
  void land();
  void sync();

  const model::ModelConfig& config_;
  device::ComputeUnit& compute_;
  const ExecutorOptions options_;
  const LayerWindows windows_;
  const std::size_t q_width_, kv_width_, vocab_;
  DenseLayers dense_;

  std::unique_ptr<Buffer> attention_, causal_o_, causal_lse_;
  std::unique_ptr<LentBuffers> lent_;
  std::vector<std::unique_ptr<LentBuffers>> set_aside_;
  std::vector<Unit> units_;

  // Of the step that is running.
  std::array<SubBatch, kMaxSubBatches> sub_batches_;
  StepRows rows_;
  std::vector<int> lost_;
  bool lent_is_stuck_ = false;
};

Executor::State::State(const model::Model& model, device::ComputeUnit& compute,
                       const ExecutorOptions& options)
    : config_(model.config()),
      compute_(compute),
      options_(options),
      windows_(config_),
      q_width_(static_cast<std::size_t>(config_.q_heads) * config_.head_dim),
      kv_width_(static_cast<std::size_t>(config_.kv_heads) * config_.head_dim),
      vocab_(static_cast<std::size_t>(config_.vocab_size)),
      dense_(model, compute, options.weights, static_cast<std::size_t>(options.max_rows),
             static_cast<std::size_t>(options.max_logit_rows)) {
  const auto rows = static_cast<std::size_t>(options.max_rows);
  attention_ = allocate_floats(compute, rows, q_width_, MemoryKind::kDevice);
  causal_o_ = allocate_floats(compute, rows, q_width_, MemoryKind::kHost);
  causal_lse_ =
      allocate_floats(compute, rows, static_cast<std::size_t>(config_.q_heads), MemoryKind::kHost);
  lent_ = make_lent();
}

std::unique_ptr<LentBuffers> Executor::State::make_lent() {
  const auto rows = static_cast<std::size_t>(options_.max_rows);
  auto lent = std::make_unique<LentBuffers>(compute_, config_, rows);
  for (std::size_t i = 0; i < units_.size(); ++i) lent->add_partial(compute_, config_, rows);
  for (auto& layouts : lent->layouts) layouts.resize(windows_.distinct.size());
  return lent;
}

void Executor::State::add_unit(device::AttentionUnit& unit) {
  units_.push_back({&unit, true, false, unit.capacity().link_bandwidth_bytes_per_s > 0});
  lent_->add_partial(compute_, config_, static_cast<std::size_t>(options_.max_rows));
}

std::vector<int> Executor::State::run(std::span<const ExecutorItem> items, const LogitsSink& sink) {
  if (!lost_.empty()) return std::exchange(lost_, {});  // found while another error was handled
  try {
    prepare(items);
    if (run_layers()) {
      compute_logits(sink);
    } else {
      land();
      sync();
    }
  } catch (...) {
    land();
    throw;
  }
  return std::exchange(lost_, {});
}

bool Executor::State::run_layers() {
  dense_.embed(rows_.ids());
  for (int layer = 0; layer <= config_.num_layers; ++layer) {
    for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
      if (sub_batches_[i].rows->num_rows == 0) continue;
      if (!stage(layer, i)) return false;
    }
  }
  return true;
}

void Executor::State::prepare(std::span<const ExecutorItem> items) {
  rows_.assign(items, options_.page_tokens);
  TANDEM_CHECK_OP(rows_.ids().size(), <=, static_cast<std::size_t>(options_.max_rows));
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    sub_batches_[i].rows = &rows_.sub_batch(i);
    for (std::size_t w = 0; w < windows_.distinct.size(); ++w) {
      lent_->layouts[i][w].build(rows_.sub_batch(i).groups, options_.page_tokens,
                                 static_cast<int>(units_.size()), windows_.distinct[w]);
    }
  }
}

const AttentionLayout& Executor::State::layout_of(int layer, std::size_t index) const {
  return lent_->layouts[index][windows_.index_of[static_cast<std::size_t>(layer)]];
}

bool Executor::State::stage(int layer, std::size_t index) {
  SubBatch& sub_batch = sub_batches_[index];
  if (layer > 0) {
    if (!collect(sub_batch)) return false;
    dense_.finish(layer - 1, sub_batch.range(), merge(sub_batch, layout_of(layer - 1, index)));
  }
  if (layer == config_.num_layers) return true;
  project(layer, sub_batch);
  sync();
  const AttentionLayout& layout = layout_of(layer, index);
  if (!launch(layer, sub_batch, layout)) return false;
  attend_inside_chunks(layer, sub_batch, layout);
  return true;
}

void Executor::State::project(int layer, const SubBatch& sub_batch) {
  const RowRange range = sub_batch.range();
  dense_.project(layer, range, rows_.positions().subspan(range.begin, range.count),
                 {row(lent_->q, range.begin, q_width_), row(lent_->k, range.begin, kv_width_),
                  row(lent_->v, range.begin, kv_width_)});
}

bool Executor::State::launch(int layer, SubBatch& sub_batch, const AttentionLayout& layout) {
  device::AttentionBatch batch;
  batch.layer = layer;
  batch.scale = config_.attention_scale;
  batch.softcap = config_.attention_softcap;
  for (const bool behind_link : {true, false}) {
    for (const UnitShare& share : layout.shares) {
      if (units_[static_cast<std::size_t>(share.unit)].has_link != behind_link) continue;
      if (!submit(share, batch, sub_batch)) return false;
    }
  }
  return true;
}

bool Executor::State::submit(const UnitShare& share, device::AttentionBatch& batch,
                             SubBatch& sub_batch) {
  const std::size_t begin = sub_batch.rows->row_begin + static_cast<std::size_t>(share.row_begin);
  const auto rows = static_cast<std::size_t>(share.row_end - share.row_begin);
  const auto q_heads = static_cast<std::size_t>(config_.q_heads);
  const PartialBuffers& partial = lent_->partial_of(share);
  batch.q = device::host_floats(row(lent_->q, begin, q_width_), rows * q_width_);
  batch.k = device::host_floats(row(lent_->k, begin, kv_width_), rows * kv_width_);
  batch.v = device::host_floats(row(lent_->v, begin, kv_width_), rows * kv_width_);
  batch.sequences = share.sequences;
  batch.pages = share.pages;
  const device::AttentionPartial out = {
      device::host_floats(row(partial.o, begin, q_width_), rows * q_width_),
      device::host_floats(row(partial.lse, begin, q_heads), rows * q_heads)};
  try {
    const device::Ticket ticket =
        units_[static_cast<std::size_t>(share.unit)].unit->submit(batch, out);
    sub_batch.in_flight.emplace_back(share.unit, ticket);
  } catch (const DeviceError&) {
    lose(share.unit);
    return false;
  }
  return true;
}

void Executor::State::attend_inside_chunks(int layer, const SubBatch& sub_batch,
                                           const AttentionLayout& layout) {
  if (layout.chunks.empty()) return;
  const std::size_t begin = sub_batch.rows->row_begin;
  device::CausalAttentionOp op;
  op.chunks = layout.chunks;
  op.q_heads = config_.q_heads;
  op.kv_heads = config_.kv_heads;
  op.head_dim = config_.head_dim;
  op.scale = config_.attention_scale;
  op.softcap = config_.attention_softcap;
  op.window = windows_.of(layer);
  op.kv_dtype = options_.kv_dtype;
  op.q = row(lent_->q, begin, q_width_);
  op.k = row(lent_->k, begin, kv_width_);
  op.v = row(lent_->v, begin, kv_width_);
  op.o = row(causal_o_, begin, q_width_);
  op.lse = row(causal_lse_, begin, static_cast<std::size_t>(config_.q_heads));
  compute_.enqueue(op);
}

// Waits for what a sub-batch has in flight, host memory first. False when a unit was lost. Also a
// lost unit's tickets are waited for, since only that gives back what they borrowed.
bool Executor::State::collect(SubBatch& sub_batch) {
  bool complete = true;
  for (const bool behind_link : {false, true}) {
    for (const auto& [index, ticket] : sub_batch.in_flight) {
      Unit& unit = units_[static_cast<std::size_t>(index)];
      if (unit.has_link != behind_link) continue;
      WaitResult result = WaitResult::kTimeout;
      if (!unit.stuck) result = unit.unit->wait(ticket, Deadline::after(options_.device_timeout));
      if (result == WaitResult::kDone) continue;
      unit.stuck = result == WaitResult::kTimeout;
      lose(index);
      complete = false;
    }
  }
  sub_batch.in_flight.clear();
  return complete;
}

void Executor::State::lose(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.alive) lost_.push_back(index);
  unit.alive = false;
  lent_is_stuck_ |= unit.stuck;
}

// Ends an interrupted step: nothing is in flight any more, and nothing that a stuck unit borrowed
// is used again.
void Executor::State::land() {
  for (SubBatch& sub_batch : sub_batches_) collect(sub_batch);
  if (!lent_is_stuck_) return;
  set_aside_.push_back(std::move(lent_));
  lent_ = make_lent();
  lent_is_stuck_ = false;
}

// Where the attention of the sub-batch's rows lies.
Slice Executor::State::merge(const SubBatch& sub_batch, const AttentionLayout& layout) {
  const std::size_t begin = sub_batch.rows->row_begin;
  const auto heads = static_cast<std::size_t>(config_.q_heads);
  if (layout.only_causal) return row(causal_o_, begin, q_width_);
  if (layout.only_share >= 0) {
    const UnitShare& share = layout.shares[static_cast<std::size_t>(layout.only_share)];
    return row(lent_->partial_of(share).o, begin, q_width_);
  }
  std::vector<device::MergePartial> partials;
  for (const UnitShare& share : layout.shares) {
    if (share.rows.empty()) continue;
    const PartialBuffers& partial = lent_->partial_of(share);
    partials.push_back(
        {row(partial.o, begin, q_width_), row(partial.lse, begin, heads), share.rows});
  }
  if (!layout.chunks.empty()) {
    partials.push_back(
        {row(causal_o_, begin, q_width_), row(causal_lse_, begin, heads), layout.chunk_rows});
  }
  const Slice out = row(attention_, begin, q_width_);
  compute_.enqueue(device::MergeOp{static_cast<std::int64_t>(sub_batch.rows->num_rows),
                                   config_.q_heads, config_.head_dim, partials, out});
  return out;
}

void Executor::State::compute_logits(const LogitsSink& sink) {
  const auto most = static_cast<std::size_t>(options_.max_logit_rows);
  std::span<const LogitRow> left = rows_.logit_rows();
  std::vector<std::int32_t> rows;
  while (!left.empty()) {
    const auto block = left.first(std::min(most, left.size()));
    left = left.subspan(block.size());
    rows.clear();
    for (const LogitRow& logit_row : block) rows.push_back(logit_row.step_row);
    const Slice logits = dense_.logits(rows);
    sync();
    const std::span<const float> all = device::host_floats(logits, block.size() * vocab_);
    for (std::size_t i = 0; i < block.size(); ++i) {
      sink(block[i].item, block[i].row, all.subspan(i * vocab_, vocab_));
    }
  }
  if (rows_.logit_rows().empty()) sync();
}

void Executor::State::sync() {
  const WaitResult result = compute_.wait(compute_.record(), Deadline::after(kComputeTimeout));
  if (result != WaitResult::kDone) {
    throw DeviceError("executor", "the compute unit did not finish a layer within 10 minutes");
  }
}

Executor::Executor(const model::Model& model, device::ComputeUnit& compute,
                   const ExecutorOptions& options)
    : state_(std::make_unique<State>(model, compute, options)) {}
Executor::~Executor() = default;

const LoadedWeights& Executor::weights() const { return state_->weights(); }

void Executor::add_unit(device::AttentionUnit& unit) { state_->add_unit(unit); }

std::vector<int> Executor::run(std::span<const ExecutorItem> items, const LogitsSink& sink) {
  return state_->run(items, sink);
}

}  // namespace tandem::engine
