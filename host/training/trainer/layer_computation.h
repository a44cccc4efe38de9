// SPDX-License-Identifier: Apache-2.0
//
// LayerComputation: the passes of one part of a decoder, for ranks that hold some layers each.
//
// A part is the embedding, one block, or the output with the loss. Its parameters have the names of
// the whole model. A tied output has its own copy of token_embd.weight. Several micro-batches may
// be in flight; each has a slot. Gradients are accumulated; they have the same bits as in a pass of
// the whole model. Ownership: borrows parameters and gradients, and copies the arguments of calls.
// Threads: one at a time. Errors: std::exception with libtorch's text.
#pragma once

#include "training/trainer/computation.h"

namespace tandem::training {

enum class DecoderPart : std::int32_t { kEmbedding, kBlock, kOutput };

struct LayerPass {
  int slot = 0;
  bool keep = true;            // a backward pass follows
  bool input_gradient = true;  // it gives the gradient of x
  float depth = 1;             // share of a row's tokens that a block with a router computes
  float skew = 0;              // of the routing to experts (experts.h), of the last block
};

class LayerComputation {
 public:
  virtual ~LayerComputation() = default;
  // x, y: [rows, columns, width]; with early exit one more column, 1 for tokens that have left. The
  // embedding reads no x. The output writes no y and returns the sum of the losses in nats; the
  // others return 0.
  virtual double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                         float* y) = 0;
  // Ends the slot's pass. dy: the gradient of y; the output ignores it and uses `scale` times the
  // gradient of its losses. dx: receives the gradient of x; null without an input gradient.
  // put_off: the gradients of weights are computed later, in weights().
  virtual void backward(int slot, float scale, const float* dy, float* dx, bool put_off) = 0;
  virtual void weights(int slot) = 0;
  // For the output only: one loss per token; 0 if the token is not scored. losses: [rows, columns]
  virtual void losses(const TokenBatch& batch, const float* x, float* losses) = 0;
};

}  // namespace tandem::training

extern "C" {
tandem::training::LayerComputation* tandem_trainer_make_layer(
    const tandem::training::DecoderSizes* sizes,
    const tandem::training::ComputationOptions* options, tandem::training::DecoderPart part,
    int block, const tandem::training::ParameterMemory* parameters, std::size_t num_parameters);
}
