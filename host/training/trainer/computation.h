// SPDX-License-Identifier: Apache-2.0
//
// Computation: forward and backward passes of a model, behind an interface without libtorch.
//
// The trainer owns parameters and gradients; a computation borrows both while it exists. It adds
// its gradients to the present values. The implementation is libtandem_trainer.so (trainer/torch),
// which load_computation_library() opens at run time, so that other programs do not load libtorch.
// Threads: one at a time. Errors: std::exception with libtorch's text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::training {

// One parameter, row-major f32.
struct ParameterMemory {
  const char* name = nullptr;
  const std::int64_t* shape = nullptr;  // [num_dims]
  int num_dims = 0;
  float* values = nullptr;
  float* gradient = nullptr;
};

// A decoder of the Llama family. Parameters have GGUF's names; pairs (2i, 2i + 1) are rotated.
struct DecoderSizes {
  int num_layers = 0, width = 0, q_heads = 0, kv_heads = 0, head_dim = 0, ffn_width = 0;
  int vocab_size = 0, context = 0;
  float norm_epsilon = 1e-5f;
  float attention_scale = 0;
  const float* inverse_frequencies = nullptr;  // [num_frequencies]
  int num_frequencies = 0;
  float rope_magnitude = 1;
  int experts = 0, experts_used = 0;  // 0: the feed-forward is dense
};

// What the blocks of a decoder leave out, depending on what they compute. 0: nothing.
struct DynamicBlocks {
  float expert_capacity = 0;      // most tokens of an expert, in even shares
  float attention_mass = 0;       // share of the estimated attention that is computed
  float attention_mass_last = 0;  // of the last block, linear in between; 0: all alike
  float exit_likeness = 0;        // cosine of a block's output and input at which a token leaves
  float sparse_from = 0;          // share of zeros from which products with a matrix are sparse
};

struct ComputationOptions {
  int threads = 0;         // 0: chosen by libtorch
  bool bf16 = false;       // matrix products in bf16; parameters and gradients stay f32
  bool recompute = false;  // activations of a layer are computed again in the backward pass
  std::uint64_t seed = 1;
  DynamicBlocks dynamics = {};
};

constexpr std::int32_t kNotScored = -100;  // a target that does not count

// Rows of tokens, and the token that follows each; both [rows, columns].
struct TokenBatch {
  const std::int32_t* tokens = nullptr;
  const std::int32_t* targets = nullptr;
  int rows = 0;
  int columns = 0;
};

// Called when a parameter's gradient of this backward pass is complete.
class GradientListener {
 public:
  virtual ~GradientListener() = default;
  virtual void ready(std::size_t parameter) = 0;
};

class Computation {
 public:
  virtual ~Computation() = default;
  // Adds `scale` times the gradient of the summed losses to the gradients. Returns the sum of the
  // losses in nats. listener: called once per parameter; may be null.
  virtual double backward(const TokenBatch& batch, float scale, GradientListener* listener) = 0;
  // One negative log-likelihood per token; 0 if it does not count. losses: [rows, columns]
  virtual void losses(const TokenBatch& batch, float* losses) = 0;
};

}  // namespace tandem::training

// The exports of libtandem_trainer.so. The caller deletes the computation.
extern "C" {
constexpr int kTandemTrainerVersion = 2;
int tandem_trainer_version();
const char* tandem_trainer_libtorch();  // "1.13.1"
tandem::training::Computation* tandem_trainer_make_decoder(
    const tandem::training::DecoderSizes* sizes,
    const tandem::training::ComputationOptions* options,
    const tandem::training::ParameterMemory* parameters, std::size_t num_parameters);
}
