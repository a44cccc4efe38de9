// SPDX-License-Identifier: Apache-2.0
//
// LayerComputation: the passes of one part of a decoder, for ranks that hold some layers each.
//
// A part is the embedding, one block, or output and loss. Its parameters have the names that they
// have in the whole model; a tied output has token_embd.weight of its own. Several micro-batches
// may be on their way; each has a slot. Gradients are added to the present ones, with the bits of
// the whole model's pass. Ownership: borrows parameters and gradients; what the caller passes is
// copied. Threads: one at a time. Errors: std::exception with libtorch's text.
#pragma once

#include "training/trainer/computation.h"

namespace tandem::training {

enum class DecoderPart : std::int32_t { kEmbedding, kBlock, kOutput };

struct LayerPass {
  int slot = 0;
  bool keep = true;            // a backward pass follows
  bool input_gradient = true;  // it gives the gradient of x
};

class LayerComputation {
 public:
  virtual ~LayerComputation() = default;
  // x, y: [rows, columns, width]. The embedding reads no x. The output writes no y and returns the
  // sum of the losses in nats; the others return 0.
  virtual double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                         float* y) = 0;
  // Ends the slot's pass. dy: the gradient of y; the output takes `scale` times that of the losses
  // in its place. dx: null where there is no input gradient. put_off: products that give gradients
  // of weights wait for weights().
  virtual void backward(int slot, float scale, const float* dy, float* dx, bool put_off) = 0;
  virtual void weights(int slot) = 0;
  // The output's: one loss per token, 0 where it is not scored. losses: [rows, columns]
  virtual void losses(const TokenBatch& batch, const float* x, float* losses) = 0;
};

}  // namespace tandem::training

extern "C" {
tandem::training::LayerComputation* tandem_trainer_make_layer(
    const tandem::training::DecoderSizes* sizes,
    const tandem::training::ComputationOptions* options, tandem::training::DecoderPart part,
    int block, const tandem::training::ParameterMemory* parameters, std::size_t num_parameters);
}
