// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: a whole model file from hostile bytes. Any outcome but an Error or a model whose
// every tensor can be read is a finding.
#include <cstring>
#include <vector>

#include "common/error.h"
#include "model/families/family.h"
#include "model/tokenizer/read_tokenizer.h"
#include "support/family_files.h"
#include "support/fuzz_main.h"
#include "support/gguf_writer.h"

namespace tandem::test {

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  const RandomLlama shape{.num_layers = 1,
                          .width = 32,
                          .q_heads = 2,
                          .kv_heads = 1,
                          .head_dim = 16,
                          .ffn_width = 32,
                          .vocab_size = 320};
  for (const DType dtype :
       {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0, DType::kQ5_1, DType::kIQ4_NL}) {
    GgufWriter writer = random_llama(shape, dtype, 1);
    writer.set_u32("general.alignment", 32);
    writer.set_string("llama.rope.scaling.type", dtype == DType::kF32 ? "yarn" : "linear");
    writer.set_f32("llama.rope.scaling.factor", 2.0f);
    writer.add_tensor("rope_freqs.weight", {8}, std::vector<float>(8, 1.0f));
    seeds.push_back(writer.bytes());
  }
  for (const std::string& name : kFamilyNames) seeds.push_back(family_file(name).writer().bytes());
  // Small ones, so that mutations hit the header often.
  GgufWriter fields;
  fields.set_string("general.architecture", "llama");
  fields.set_strings("strings", {"a", "bc", ""});
  fields.set_i32s("numbers", {1, -2, 3});
  fields.set_bool("flag", true);
  fields.add_tensor("t", {4, 2}, std::vector<float>(8, 1.0f));
  seeds.push_back(fields.bytes());
  GgufWriter blocks;
  for (const DType dtype : {DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K,
                            DType::kQ6_K, DType::kIQ4_NL}) {
    blocks.add_tensor(dtype_name(dtype), {256, 2}, dtype,
                      [](std::byte* data, std::size_t size) { std::memset(data, 0x5a, size); });
  }
  seeds.push_back(blocks.bytes());
}

}  // namespace tandem::test

namespace {

volatile unsigned g_sum = 0;  // keeps reads of tensor data from being optimised away

void read_all(const tandem::TensorView& view) {
  if (!view) return;
  for (std::size_t at = 0; at < view.size_bytes(); at += 16) {
    g_sum = g_sum + static_cast<unsigned>(view.data[at]);
  }
  g_sum = g_sum + static_cast<unsigned>(view.data[view.size_bytes() - 1]);
  if (view.columns > 4096) return;
  std::vector<float> row(static_cast<std::size_t>(view.columns));
  tandem::dequantize_row(view.dtype, view.data, row.data(), row.size());
  g_sum = g_sum + (row.back() > 0.0f ? 1u : 0u);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::model;
  try {
    const GgufFile file(std::as_bytes(std::span(data, size)), "fuzz");
    for (const GgufTensor& tensor : file.tensors()) {
      if (tensor.num_dims <= 2) read_all(file.view(tensor));
    }
    const auto tokenizer = read_tokenizer(file);
    const FamilyWeights weights = read_family(file, tokenizer->vocab_size());
    read_all(weights.embedding);
    for (const LayerTensors& layer : weights.layers) {
      for (const tandem::TensorView* view : {&layer.wq, &layer.wv, &layer.up, &layer.down,
                                             &layer.q_norm, &layer.ffn_post_norm, &layer.router}) {
        read_all(*view);
      }
      for (const ExpertTensors& expert : layer.experts) read_all(expert.down);
    }
  } catch (const tandem::Error&) {
  }
  return 0;
}
