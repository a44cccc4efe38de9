// SPDX-License-Identifier: Apache-2.0
//
// The keys and tensors of every family (declared in family_files.h).
#include "support/family_files.h"

#include <cstring>
#include <random>

#include "tensor/dtype.h"

namespace tandem::test {
namespace {

constexpr std::uint64_t kWidth = 32, kFfn = 48, kHeadDim = 16, kQ = 2 * kHeadDim, kKv = kHeadDim,
                        kVocab = 320, kExperts = 3;

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  for (const char* one : names) {
    if (name == one) return true;
  }
  return false;
}

void add_feed_forward(FamilyFile& file, const std::string& name, const std::string& block) {
  auto& tensors = file.tensors;
  if (is_one_of(name, {"mixtral", "qwen2moe", "qwen3moe"})) {
    tensors[block + "ffn_gate_inp.weight"] = {kWidth, kExperts};
    tensors[block + "ffn_gate_exps.weight"] = {kWidth, kFfn, kExperts};
    tensors[block + "ffn_up_exps.weight"] = {kWidth, kFfn, kExperts};
    tensors[block + "ffn_down_exps.weight"] = {kFfn, kWidth, kExperts};
  } else {
    tensors[block + "ffn_up.weight"] = {kWidth, name == "phi3" ? 2 * kFfn : kFfn};
    tensors[block + "ffn_down.weight"] = {kFfn, kWidth};
    if (name != "phi3") tensors[block + "ffn_gate.weight"] = {kWidth, kFfn};
  }
  if (name == "qwen2moe") {
    tensors[block + "ffn_gate_inp_shexp.weight"] = {kWidth};
    tensors[block + "ffn_gate_shexp.weight"] = {kWidth, kFfn};
    tensors[block + "ffn_up_shexp.weight"] = {kWidth, kFfn};
    tensors[block + "ffn_down_shexp.weight"] = {kFfn, kWidth};
  }
}

void add_layer(FamilyFile& file, const std::string& name, const std::string& block) {
  auto& tensors = file.tensors;
  for (const char* norm : {"attn_norm", "ffn_norm"}) tensors[block + norm + ".weight"] = {kWidth};
  if (name == "phi3") {
    tensors[block + "attn_qkv.weight"] = {kWidth, kQ + 2 * kKv};
  } else {
    tensors[block + "attn_q.weight"] = {kWidth, kQ};
    tensors[block + "attn_k.weight"] = {kWidth, kKv};
    tensors[block + "attn_v.weight"] = {kWidth, kKv};
  }
  tensors[block + "attn_output.weight"] = {kQ, kWidth};
  if (is_one_of(name, {"qwen2", "qwen2moe"})) {
    tensors[block + "attn_q.bias"] = {kQ};
    tensors[block + "attn_k.bias"] = tensors[block + "attn_v.bias"] = {kKv};
  }
  if (is_one_of(name, {"qwen3", "qwen3moe", "gemma3"})) {
    tensors[block + "attn_q_norm.weight"] = tensors[block + "attn_k_norm.weight"] = {kHeadDim};
  }
  if (is_one_of(name, {"gemma2", "gemma3"})) {
    tensors[block + "post_attention_norm.weight"] = {kWidth};
    tensors[block + "post_ffw_norm.weight"] = {kWidth};
  }
  add_feed_forward(file, name, block);
}

void add_numbers(FamilyFile& file, const std::string& name) {
  file.numbers = {{"block_count", 2},
                  {"context_length", 64},
                  {"embedding_length", 32},
                  {"attention.head_count", 2},
                  {"attention.key_length", 16},
                  {"attention.value_length", 16},
                  {"attention.head_count_kv", 1}};
  if (is_one_of(name, {"qwen2moe", "qwen3moe"})) {
    file.numbers["expert_feed_forward_length"] = kFfn;
  } else {
    file.numbers["feed_forward_length"] = kFfn;
  }
  if (name == "qwen2moe") file.numbers["expert_shared_feed_forward_length"] = kFfn;
  if (is_one_of(name, {"mixtral", "qwen2moe", "qwen3moe"})) {
    file.numbers["expert_count"] = kExperts;
    file.numbers["expert_used_count"] = 2;
  }
  if (is_one_of(name, {"mistral", "gemma2", "gemma3", "phi3"})) {
    file.numbers["attention.sliding_window"] = 20;
  }
}

}  // namespace

FamilyFile family_file(const std::string& name) {
  FamilyFile file;
  file.architecture = is_one_of(name, {"mistral", "mixtral"}) ? "llama" : name;
  add_numbers(file, name);
  file.tensors["token_embd.weight"] = {kWidth, kVocab};
  file.tensors["output_norm.weight"] = {kWidth};
  for (const char* block : {"blk.0.", "blk.1."}) add_layer(file, name, block);
  if (name == "gemma2") {
    file.floats = {{"attn_logit_softcapping", 50.0f}, {"final_logit_softcapping", 30.0f}};
  }
  if (name == "phi3") {
    file.numbers["rope.scaling.original_context_length"] = 32;
    file.tensors["rope_factors_long.weight"] = {kHeadDim / 2};
    file.tensors["rope_factors_short.weight"] = {kHeadDim / 2};
  }
  return file;
}

GgufWriter FamilyFile::writer() const {
  GgufWriter writer;
  writer.set_string("general.architecture", architecture);
  for (const auto& [key, value] : numbers) writer.set_u32(architecture + "." + key, value);
  for (const auto& [key, value] : floats) writer.set_f32(architecture + "." + key, value);
  set_test_vocabulary(writer, static_cast<int>(kVocab));
  std::uint32_t seed = 0;
  for (const auto& [name, dims] : tensors) {
    if (dims.size() == 1) {
      const float value = name == "rope_factors_long.weight" ? 2.0f : 1.0f;
      writer.add_tensor(name, dims, std::vector<float>(dims[0], value));
      continue;
    }
    writer.add_tensor(name, dims, DType::kF16, [seed = ++seed](std::byte* data, std::size_t size) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<float> value(-0.3f, 0.3f);
      for (std::size_t at = 0; at < size; at += 2) {
        const std::uint16_t half = f32_to_f16(value(random));
        std::memcpy(data + at, &half, 2);
      }
    });
  }
  return writer;
}

}  // namespace tandem::test
