// SPDX-License-Identifier: Apache-2.0
//
// The order of operations.
#include "engine/executor/dense_layers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/attention/lent_buffers.h"

namespace tandem::engine {
namespace {

using device::LinearOp;
using device::LinearTarget;
using device::MemoryKind;
using device::Slice;

bool has_post_norms(const model::Model& model) {
  return std::ranges::any_of(model.layers(), [](const model::LayerTensors& layer) {
    return layer.attention_post_norm || layer.ffn_post_norm;
  });
}

}  // namespace

DenseLayers::DenseLayers(const model::Model& model, ComputeQueue& queue,
                         const WeightOptions& options, std::size_t max_rows,
                         std::size_t max_logit_rows)
    : config_(model.config()),
      queue_(queue),
      weights_(model, queue.unit(), options),
      width_(static_cast<std::size_t>(config_.width)),
      ffn_width_(static_cast<std::size_t>(config_.ffn_width)),
      vocab_(static_cast<std::size_t>(config_.vocab_size)),
      activation_(config_.gate == model::Gate::kSilu ? device::Activation::kSilu
                                                     : device::Activation::kGeluTanh) {
  device::ComputeUnit& compute = queue.unit();
  const auto rows_of = [&](std::size_t width) {
    return allocate_floats(compute, max_rows, width, MemoryKind::kDevice);
  };
  x_ = rows_of(width_);
  gate_ = rows_of(ffn_width_);
  up_ = rows_of(ffn_width_);
  if (has_post_norms(model) || config_.experts.count > 0) product_ = rows_of(width_);
  if (config_.experts.count > 0) {
    normed_ = rows_of(width_);
    router_ = rows_of(static_cast<std::size_t>(config_.experts.count));
    shared_ = rows_of(1);
  }
  last_ = allocate_floats(compute, max_logit_rows, width_, MemoryKind::kDevice);
  logits_ = allocate_floats(compute, max_logit_rows, vocab_, MemoryKind::kDevice);
  if (!queue.is_host_memory()) {
    host_logits_ = allocate_floats(compute, max_logit_rows, vocab_, MemoryKind::kHost);
  }
}

void DenseLayers::embed(std::span<const std::int32_t> ids) {
  queue_.enqueue(
      device::EmbedOp{weights_.embedding(), ids, row(x_, 0, width_), config_.embedding_scale});
}

void DenseLayers::project(int layer, RowRange range, std::span<const LinearTarget> targets) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  queue_.enqueue(LinearOp{static_cast<std::int64_t>(range.count), row(x_, range.begin, width_),
                          targets, w.attention_norm, config_.norm_epsilon});
}

void DenseLayers::rotate(int layer, std::span<const std::int32_t> positions,
                         std::span<const device::RopeTarget> targets) {
  const model::RopeConfig& rope = config_.rope_of(layer);
  queue_.enqueue(device::RopeOp{static_cast<std::int64_t>(positions.size()), config_.head_dim,
                                targets, config_.norm_epsilon, positions, rope.inverse_frequencies,
                                rope.magnitude, rope.interleaved});
}

void DenseLayers::project(int layer, RowRange range, std::span<const std::int32_t> positions,
                          const Projections& out) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  const LinearTarget targets[] = {
      {w.wq, w.bq, out.q, false}, {w.wk, w.bk, out.k, false}, {w.wv, w.bv, out.v, false}};
  project(layer, range, targets);
  const device::RopeTarget rotated[] = {{config_.q_heads, out.q, w.q_norm},
                                        {config_.kv_heads, out.k, w.k_norm}};
  rotate(layer, positions, rotated);
}

void DenseLayers::project_queries(int layer, RowRange range,
                                  std::span<const std::int32_t> positions, Slice q) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  const LinearTarget target[] = {{w.wq, w.bq, q, false}};
  project(layer, range, target);
  const device::RopeTarget rotated[] = {{config_.q_heads, q, w.q_norm}};
  rotate(layer, positions, rotated);
}

void DenseLayers::project_keys_values(int layer, RowRange range,
                                      std::span<const std::int32_t> positions,
                                      const Projections& out) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  const LinearTarget targets[] = {{w.wk, w.bk, out.k, false}, {w.wv, w.bv, out.v, false}};
  project(layer, range, targets);
  const device::RopeTarget rotated[] = {{config_.kv_heads, out.k, w.k_norm}};
  rotate(layer, positions, rotated);
}

std::size_t DenseLayers::key_value_bytes() const {
  const LayerWeights& w = weights_.layers().front();
  return w.wk->size_bytes() + w.wv->size_bytes();
}

// The weights of norms and biases do not count.
double DenseLayers::key_value_share() const {
  const LayerWeights& w = weights_.layers().front();
  double experts = 0, others = 0;
  for (const device::Expert& expert : w.experts) {
    for (const auto* weight : {expert.gate, expert.up, expert.down})
      experts += weight->size_bytes();
  }
  if (!w.experts.empty()) {
    experts *= config_.experts.used / static_cast<double>(w.experts.size());
  }
  for (const auto* weight : {w.wq, w.wo, w.gate, w.up, w.down, w.router}) {
    if (weight != nullptr) others += weight->size_bytes();
  }
  const auto key_value = static_cast<double>(key_value_bytes());
  return key_value / (key_value + others + experts);
}

void DenseLayers::add_product(LinearOp& product, const LinearTarget& target,
                              const device::Weight* post_norm) {
  LinearTarget to = target;
  if (post_norm != nullptr) to.out = row(product_, 0, width_);
  to.accumulate = post_norm == nullptr;
  product.targets = {&to, 1};
  queue_.enqueue(product);
  if (post_norm == nullptr) return;
  queue_.enqueue(
      device::RmsNormOp{product.rows, to.out, target.out, post_norm, config_.norm_epsilon, true});
}

void DenseLayers::finish(int layer, RowRange range, Slice attention) {
  const LayerWeights& w = weights_.layers()[static_cast<std::size_t>(layer)];
  LinearOp project_out{static_cast<std::int64_t>(range.count), attention};
  add_product(project_out, {w.wo, w.bo, row(x_, range.begin, width_)}, w.attention_post_norm);
  if (w.experts.empty()) {
    feed_forward(w, range);
  } else {
    experts(w, range);
  }
}

void DenseLayers::feed_forward(const LayerWeights& w, RowRange range) {
  const auto rows = static_cast<std::int64_t>(range.count);
  const Slice x = row(x_, range.begin, width_);
  const Slice gate = row(gate_, 0, ffn_width_), up = row(up_, 0, ffn_width_);
  const LinearTarget widen[] = {{w.gate, nullptr, gate}, {w.up, nullptr, up}};
  queue_.enqueue(LinearOp{rows, x, widen, w.ffn_norm, config_.norm_epsilon});
  LinearOp gated{rows, gate};
  gated.up = up;
  gated.activation = activation_;
  add_product(gated, {w.down, nullptr, x}, w.ffn_post_norm);
}

// The router, the shared expert and its weight read the same normed rows in one call.
void DenseLayers::experts(const LayerWeights& w, RowRange range) {
  const auto rows = static_cast<std::int64_t>(range.count);
  const auto count = static_cast<std::size_t>(config_.experts.count);
  const Slice x = row(x_, range.begin, width_), normed = row(normed_, 0, width_);
  const Slice gate = row(gate_, 0, ffn_width_), up = row(up_, 0, ffn_width_);
  const Slice router = row(router_, 0, count), shared = row(shared_, 0, 1);
  queue_.enqueue(device::RmsNormOp{rows, x, normed, w.ffn_norm, config_.norm_epsilon});
  std::vector<LinearTarget> targets = {{w.router, nullptr, router}};
  if (w.gate != nullptr) {
    targets.push_back({w.gate, nullptr, gate});
    targets.push_back({w.up, nullptr, up});
  }
  if (w.shared_gate != nullptr) targets.push_back({w.shared_gate, nullptr, shared});
  queue_.enqueue(LinearOp{rows, normed, targets});
  queue_.enqueue(device::ExpertsOp{rows, normed, router, w.experts, config_.experts.used,
                                   config_.experts.normalise, activation_, x});
  if (w.gate == nullptr) return;
  const Slice product = row(product_, 0, width_);
  const LinearTarget narrow[] = {
      {w.down, nullptr, w.shared_gate != nullptr ? product : x, w.shared_gate == nullptr}};
  LinearOp gated{rows, gate, narrow};
  gated.up = up;
  gated.activation = activation_;
  queue_.enqueue(gated);
  if (w.shared_gate == nullptr) return;
  queue_.enqueue(device::GatedAddOp{rows, static_cast<std::int64_t>(width_), product, shared, x});
}

Slice DenseLayers::logits(std::span<const std::int32_t> rows) {
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  const Slice last = row(last_, 0, width_), logits = row(logits_, 0, vocab_);
  queue_.enqueue(
      device::GatherRowsOp{rows, static_cast<std::int64_t>(width_), row(x_, 0, width_), last});
  const LinearTarget target[] = {{weights_.output(), nullptr, logits}};
  queue_.enqueue(LinearOp{num_rows, last, target, weights_.output_norm(), config_.norm_epsilon});
  if (config_.logit_softcap > 0) {
    queue_.enqueue(device::SoftcapOp{num_rows, static_cast<std::int64_t>(vocab_), logits,
                                     config_.logit_softcap});
  }
  return logits;
}

Slice DenseLayers::on_host(Slice logits, std::size_t num_rows) {
  if (queue_.is_host_memory()) return logits;
  const Slice to = row(host_logits_, 0, vocab_);
  queue_.enqueue(device::CopyOp{num_rows * vocab_ * sizeof(float), logits, to});
  return to;
}

}  // namespace tandem::engine
