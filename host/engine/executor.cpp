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

Slice row(const std::unique_ptr<Buffer>& buffer, std::size_t index, std::size_t width) {
  return {buffer.get(), index * width * sizeof(float)};
}

struct Unit {
  device::AttentionUnit* unit = nullptr;
  bool alive = true;
  bool stuck = false;  // timed out: it still has what it was lent
  bool has_link = false;
};

struct SubBatch {
  const SubBatchRows* rows = nullptr;
  std::vector<std::pair<int, device::Ticket>> in_flight;  // unit, ticket
};

}  // namespace

struct Executor::State {
  State(const model::Model& model, device::ComputeUnit& compute, const ExecutorOptions& options);

  void add_unit(device::AttentionUnit& unit);
  std::vector<int> run(std::span<const ExecutorItem> items, const LogitsSink& sink);

  const LoadedWeights& weights() const { return weights_.loaded(); }

 private:
  std::unique_ptr<LentBuffers> make_lent();
  bool run_layers();
  void prepare(std::span<const ExecutorItem> items);
  bool stage(int layer, SubBatch& sub_batch, const AttentionLayout& layout);
  void project(int layer, const SubBatch& sub_batch);
  bool launch(int layer, SubBatch& sub_batch, const AttentionLayout& layout);
  bool submit(const UnitShare& share, device::AttentionBatch& batch, SubBatch& sub_batch);
  void attend_inside_chunks(const SubBatch& sub_batch, const AttentionLayout& layout);
  bool collect(SubBatch& sub_batch);
  Slice merge(const SubBatch& sub_batch, const AttentionLayout& layout);
  void finish_layer(int layer, const SubBatch& sub_batch, Slice attention);
  void compute_logits(const LogitsSink& sink);
  void lose(int index);
  void land();
  void sync();

  const model::ModelConfig& config_;
  device::ComputeUnit& compute_;
  const ExecutorOptions options_;
  const ModelWeights weights_;
  const std::size_t width_, q_width_, kv_width_, ffn_width_, vocab_;

  std::unique_ptr<Buffer> x_, attention_, gate_, up_, causal_o_, causal_lse_;
  std::unique_ptr<Buffer> last_, logits_;
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
      weights_(model, compute, options.weights),
      width_(static_cast<std::size_t>(config_.width)),
      q_width_(static_cast<std::size_t>(config_.q_heads) * config_.head_dim),
      kv_width_(static_cast<std::size_t>(config_.kv_heads) * config_.head_dim),
      ffn_width_(static_cast<std::size_t>(config_.ffn_width)),
      vocab_(static_cast<std::size_t>(config_.vocab_size)) {
  const auto rows = static_cast<std::size_t>(options.max_rows);
  const auto logit_rows = static_cast<std::size_t>(options.max_logit_rows);
  const auto device = [&](std::size_t width) {
    return allocate_floats(compute, rows, width, MemoryKind::kDevice);
  };
  x_ = device(width_);
  attention_ = device(q_width_);
  gate_ = device(ffn_width_);
  up_ = device(ffn_width_);
  causal_o_ = allocate_floats(compute, rows, q_width_, MemoryKind::kHost);
  causal_lse_ =
      allocate_floats(compute, rows, static_cast<std::size_t>(config_.q_heads), MemoryKind::kHost);
  last_ = allocate_floats(compute, logit_rows, width_, MemoryKind::kDevice);
  logits_ = allocate_floats(compute, logit_rows, vocab_, MemoryKind::kHost);
  lent_ = make_lent();
}

std::unique_ptr<LentBuffers> Executor::State::make_lent() {
  const auto rows = static_cast<std::size_t>(options_.max_rows);
  auto lent = std::make_unique<LentBuffers>(compute_, config_, rows);
  for (std::size_t i = 0; i < units_.size(); ++i) lent->add_partial(compute_, config_, rows);
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
  compute_.enqueue(device::EmbedOp{weights_.embedding(), rows_.ids(), row(x_, 0, width_)});
  for (int layer = 0; layer <= config_.num_layers; ++layer) {
    for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
      if (sub_batches_[i].rows->num_rows == 0) continue;
      if (!stage(layer, sub_batches_[i], lent_->layouts[i])) return false;
    }
  }
  return true;
}

void Executor::State::prepare(std::span<const ExecutorItem> items) {
  rows_.assign(items, options_.page_tokens);
  TANDEM_CHECK_OP(rows_.ids().size(), <=, static_cast<std::size_t>(options_.max_rows));
  for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
    sub_batches_[i].rows = &rows_.sub_batch(i);
    lent_->layouts[i].build(rows_.sub_batch(i).groups, options_.page_tokens,
                            static_cast<int>(units_.size()));
  }
}

bool Executor::State::stage(int layer, SubBatch& sub_batch, const AttentionLayout& layout) {
  if (layer > 0) {
    if (!collect(sub_batch)) return false;
    finish_layer(layer - 1, sub_batch, merge(sub_batch, layout));
  }
  if (layer == config_.num_layers) return true;
  project(layer, sub_batch);
  sync();
  if (!launch(layer, sub_batch, layout)) return false;
  attend_inside_chunks(sub_batch, layout);
  return true;
}

void Executor::State::project(int layer, const SubBatch& sub_batch) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  const std::size_t begin = sub_batch.rows->row_begin;
  const auto rows = static_cast<std::int64_t>(sub_batch.rows->num_rows);
  const Slice q = row(lent_->q, begin, q_width_), k = row(lent_->k, begin, kv_width_);
  const std::array<device::LinearTarget, 3> targets = {
      device::LinearTarget{w.wq, w.bq, q, false}, device::LinearTarget{w.wk, w.bk, k, false},
      device::LinearTarget{w.wv, w.bv, row(lent_->v, begin, kv_width_), false}};
  compute_.enqueue(device::LinearOp{rows, row(x_, begin, width_), targets, w.attention_norm,
                                    config_.norm_epsilon});
  const std::array<device::RopeTarget, 2> rotated = {device::RopeTarget{config_.q_heads, q},
                                                     device::RopeTarget{config_.kv_heads, k}};
  const model::RopeConfig& rope = config_.rope;
  compute_.enqueue(device::RopeOp{rows, config_.head_dim, rotated, config_.norm_epsilon,
                                  rows_.positions().subspan(begin, sub_batch.rows->num_rows),
                                  rope.inverse_frequencies, rope.magnitude, rope.interleaved});
}

bool Executor::State::launch(int layer, SubBatch& sub_batch, const AttentionLayout& layout) {
  device::AttentionBatch batch;
  batch.layer = layer;
  batch.scale = config_.attention_scale;
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
  const PartialBuffers& partial = lent_->partials[static_cast<std::size_t>(share.unit)];
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

void Executor::State::attend_inside_chunks(const SubBatch& sub_batch,
                                           const AttentionLayout& layout) {
  if (layout.chunks.empty()) return;
  const std::size_t begin = sub_batch.rows->row_begin;
  device::CausalAttentionOp op;
  op.chunks = layout.chunks;
  op.q_heads = config_.q_heads;
  op.kv_heads = config_.kv_heads;
  op.head_dim = config_.head_dim;
  op.scale = config_.attention_scale;
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
  const auto answers_of = [&](const UnitShare& share) -> const PartialBuffers& {
    return lent_->partials[static_cast<std::size_t>(share.unit)];
  };
  if (layout.only_causal) return row(causal_o_, begin, q_width_);
  if (layout.only_share >= 0) {
    return row(answers_of(layout.shares[static_cast<std::size_t>(layout.only_share)]).o, begin,
               q_width_);
  }
  std::vector<device::MergePartial> partials;
  for (const UnitShare& share : layout.shares) {
    if (share.rows.empty()) continue;
    const PartialBuffers& partial = answers_of(share);
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

void Executor::State::finish_layer(int layer, const SubBatch& sub_batch, Slice attention) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  const std::size_t begin = sub_batch.rows->row_begin;
  const auto rows = static_cast<std::int64_t>(sub_batch.rows->num_rows);
  const Slice x = row(x_, begin, width_);
  const Slice gate = row(gate_, begin, ffn_width_), up = row(up_, begin, ffn_width_);
  const device::LinearTarget project_out[] = {{w.wo, w.bo, x, true}};
  compute_.enqueue(device::LinearOp{rows, attention, project_out});
  const device::LinearTarget widen[] = {{w.gate, nullptr, gate, false}, {w.up, nullptr, up, false}};
  compute_.enqueue(device::LinearOp{rows, x, widen, w.ffn_norm, config_.norm_epsilon});
  const device::LinearTarget narrow[] = {{w.down, nullptr, x, true}};
  device::LinearOp gated{rows, gate, narrow};
  gated.up = up;
  compute_.enqueue(gated);
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
    const auto num_rows = static_cast<std::int64_t>(rows.size());
    const Slice last = row(last_, 0, width_), logits = row(logits_, 0, vocab_);
    compute_.enqueue(
        device::GatherRowsOp{rows, static_cast<std::int64_t>(width_), row(x_, 0, width_), last});
    const device::LinearTarget target[] = {{weights_.output(), nullptr, logits, false}};
    compute_.enqueue(
        device::LinearOp{num_rows, last, target, weights_.output_norm(), config_.norm_epsilon});
    sync();
    for (std::size_t i = 0; i < block.size(); ++i) {
      sink(block[i].item, block[i].row, device::host_floats(row(logits_, i, vocab_), vocab_));
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
