// SPDX-License-Identifier: Apache-2.0
//
// Model: a decoder-only transformer as the engine needs it: configuration, weights by role,
// tokenizer, chat template.
//
// load_model() maps a GGUF file, or a directory of safetensors files as published on model hubs,
// and checks everything that it uses. It copies only weights of safetensors files that are not
// aligned to their elements. Views are valid as long as the Model. Families (families/<one file
// each>) translate names and keys. Threads: any; immutable after loading. Errors: Error("gguf" or
// "safetensors", ...) naming file and field if a file is truncated, hostile or unknown.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "tensor/tensor_view.h"

namespace tandem::model {

// Frequencies after every scaling variant (none, linear, YaRN, Llama-3 factors) has been applied.
struct RopeConfig {
  std::vector<float> inverse_frequencies;  // [rotated dimensions / 2]
  float magnitude = 1.0f;                  // multiplies cos and sin
  bool interleaved = true;                 // pairs (2i, 2i+1), else (i, i + n/2)
};

// The function of the gate in a gated feed-forward.
enum class Gate { kSilu, kGeluTanh };

struct ExpertConfig {
  int count = 0;           // 0: the model is dense
  int used = 0;            // per token
  int ffn_width = 0;       // of one expert
  bool normalise = false;  // the chosen experts' probabilities are scaled to sum to 1
};

struct ModelConfig {
  std::string name;
  std::string architecture;  // "llama"
  std::string quantization;  // of most weights: "q8_0"
  int num_layers = 0;
  int width = 0;
  int q_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn_width = 0;
  int vocab_size = 0;
  int context_length = 0;
  float norm_epsilon = 1e-5f;
  float attention_scale = 0;  // 1/sqrt(head_dim) unless the family says otherwise
  float embedding_scale = 1;
  float attention_softcap = 0;  // 0: none, as for logits
  float logit_softcap = 0;
  Gate gate = Gate::kSilu;
  RopeConfig rope;
  // Layers with a sliding window see that many tokens, including the own one, and rotate by
  // local_rope if it has frequencies. 0: the layer sees everything. Empty: no layer has a window.
  std::vector<int> windows;  // [num_layers]
  RopeConfig local_rope;
  ExpertConfig experts;
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;

  int window_of(int layer) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
  }
  const RopeConfig& rope_of(int layer) const {
    const bool local = window_of(layer) > 0 && !local_rope.inverse_frequencies.empty();
    return local ? local_rope : rope;
  }
};

struct ExpertTensors {
  TensorView gate, up, down;  // [ffn, width] twice, [width, ffn]
};

// A view is empty (operator bool) where the family has no such tensor.
struct LayerTensors {
  TensorView attention_norm;  // [1, width]
  TensorView wq, wk, wv;      // [heads * head_dim, width]
  TensorView bq, bk, bv;      // [1, heads * head_dim], optional
  TensorView q_norm, k_norm;  // [1, head_dim], optional: of every head, before the rotation
  TensorView wo, bo;          // [width, q_heads * head_dim]; bias optional
  TensorView ffn_norm;        // [1, width]
  TensorView gate, up, down;  // [ffn, width] twice, [width, ffn]; with experts: the shared one
  TensorView attention_post_norm, ffn_post_norm;  // [1, width], optional: before the residual sum
  TensorView router;                              // [experts, width]
  std::vector<ExpertTensors> experts;
  TensorView shared_gate;  // [1, width]: scales the shared expert by sigmoid(shared_gate x)
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual const std::vector<LayerTensors>& layers() const = 0;
  virtual const TensorView& embedding() const = 0;    // [vocab, width]
  virtual const TensorView& output_norm() const = 0;  // [1, width]
  virtual const TensorView& output() const = 0;       // [vocab, width]; the embedding if tied
  virtual const Tokenizer& tokenizer() const = 0;
  // Null if the file has no usable template; chat_template_error() then says why.
  virtual const ChatTemplate* chat_template() const = 0;
  virtual const std::string& chat_template_error() const = 0;  // empty: no error
  // Releases the memory of a tensor whose file is mapped. The tensor can still be read.
  virtual void release(const TensorView&) const {}
};

// `progress` (may be empty) is called with fractions 0..1 while a large file is checked and read
// ahead. `accept` (may be empty) is called with the configuration before that; if it throws, the
// loading ends. The configuration exists as long as the model.
std::unique_ptr<Model> load_model(const std::string& path,
                                  const std::function<void(double)>& progress = {},
                                  const std::function<void(const ModelConfig&)>& accept = {});

// Loads only the tokenizer of a file, which need not contain weights.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace tandem::model
