// SPDX-License-Identifier: Apache-2.0
//
// DenseLayers: all of a transformer layer except attention, on the compute unit; also the embedding
// before the layers and the output projection after them.
//
// Holds the weights and the residual rows of a step. Skips operations that a model lacks (a norm
// after a product, experts, a cap of the logits). Enqueues only; the caller waits. Threads: one.
// Ownership: borrows model and queue. Errors: those of enqueue() and allocate().
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "device/compute_unit.h"
#include "engine/attention/lent_buffers.h"
#include "engine/steps/compute_queue.h"
#include "engine/weights/layer_weights.h"
#include "model/model.h"

namespace tandem::engine {

// Rows [begin, begin + count) of the step.
struct RowRange {
  std::size_t begin = 0, count = 0;
};

class DenseLayers {
 public:
  DenseLayers(const model::Model& model, ComputeQueue& queue, const WeightOptions& options,
              std::size_t max_rows, std::size_t max_logit_rows);

  const LoadedWeights& weights() const { return weights_.loaded(); }

  void embed(std::span<const std::int32_t> ids);
  // Computes the norm, q, k and v, the norms of their heads, and the rotation. `positions`: of the
  // rows of the range.
  void project(int layer, RowRange range, std::span<const std::int32_t> positions,
               const Projections& out);
  // Computes the output projection of the attention [count, q_heads, head_dim] and the
  // feed-forward.
  void finish(int layer, RowRange range, device::Slice attention);
  // project() in two parts, q first.
  void project_queries(int layer, RowRange range, std::span<const std::int32_t> positions,
                       device::Slice q);
  void project_keys_values(int layer, RowRange range, std::span<const std::int32_t> positions,
                           const Projections& out);
  // The logits of at most max_logit_rows rows of the step: [rows, vocab], where the unit works.
  device::Slice logits(std::span<const std::int32_t> rows);
  // The `num_rows` rows of `logits` in host memory; valid until the next logits().
  device::Slice on_host(device::Slice logits, std::size_t num_rows);

  // The size of a layer's weights that project k and v; and this size over that of all weights that
  // the layer reads for one row.
  std::size_t key_value_bytes() const;
  double key_value_share() const;

 private:
  void project(int layer, RowRange range, std::span<const device::LinearTarget> targets);
  void rotate(int layer, std::span<const std::int32_t> positions,
              std::span<const device::RopeTarget> targets);
  // x += norm(the product), or the product itself if there is no norm.
  void add_product(device::LinearOp& product, const device::LinearTarget& target,
                   const device::Weight* post_norm);
  void feed_forward(const LayerWeights& w, RowRange range);
  void experts(const LayerWeights& w, RowRange range);

  const model::ModelConfig& config_;
  ComputeQueue& queue_;
  const ModelWeights weights_;
  const std::size_t width_, ffn_width_, vocab_;
  const device::Activation activation_;
  std::unique_ptr<device::Buffer> x_, gate_, up_, last_, logits_;
  std::unique_ptr<device::Buffer> host_logits_;  // null if logits_ is host memory
  // a product before its norm, or the output of the shared expert
  std::unique_ptr<device::Buffer> product_;
  std::unique_ptr<device::Buffer> normed_, router_, shared_;  // null for models without experts
};

}  // namespace tandem::engine
