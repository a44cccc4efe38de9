// SPDX-License-Identifier: Apache-2.0
//
// Random-weight models of the Llama family (declared in gguf_writer.h).
//
// Weights are uniform with standard deviation 1 / sqrt(columns). Quantised blocks are drawn as
// quantised blocks (one scale per tensor, uniform integers), not quantised from floats.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "support/gguf_writer.h"
#include "support/scratch_path.h"

namespace tandem::test {
namespace {

// xorshift64*: one multiplication per eight random bytes.
class FastRandom {
 public:
  explicit FastRandom(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  void bytes(std::byte* out, std::size_t size) {
    for (std::size_t at = 0; at < size; at += 8) {
      const std::uint64_t value = next();
      std::memcpy(out + at, &value, size - at < 8 ? size - at : 8);
    }
  }

 private:
  std::uint64_t state_;
};

// Where a quantised type's blocks hold their scales, and what uniform bits behind them make: the
// min that centres the values, per unit of scale (0: the type has none), and the deviation.
struct BlockShape {
  DType dtype;
  std::size_t scale_at, min_at;
  float min, deviation;
};
constexpr BlockShape kBlockShapes[] = {
    {DType::kQ8_0, offsetof(BlockQ8_0, scale), 0, 0.0f, 73.9f},
    {DType::kQ4_0, offsetof(BlockQ4_0, scale), 0, 0.0f, 4.61f},
    {DType::kQ4_1, offsetof(BlockQ4_1, scale), offsetof(BlockQ4_1, min), -7.5f, 4.61f},
    {DType::kQ5_0, offsetof(BlockQ5_0, scale), 0, 0.0f, 9.23f},
    {DType::kQ5_1, offsetof(BlockQ5_1, scale), offsetof(BlockQ5_1, min), -15.5f, 9.23f},
    {DType::kIQ4_NL, offsetof(BlockIQ4_NL, scale), 0, 0.0f, 67.4f},
    {DType::kQ4_K, offsetof(BlockQ4_K, scale), offsetof(BlockQ4_K, min), 7.5f, 258.0f},
    {DType::kQ5_K, offsetof(BlockQ5_K, scale), offsetof(BlockQ5_K, min), 15.5f, 527.0f},
    {DType::kQ6_K, offsetof(BlockQ6_K, scale), 0, 0.0f, 1366.0f},
};

void fill_blocks(const BlockShape& shape, float deviation, FastRandom& random, std::byte* data,
                 std::size_t size) {
  const std::size_t block = dtype_block_bytes(shape.dtype);
  const float scale = deviation / shape.deviation;
  const std::uint16_t scale_bits = f32_to_f16(scale), min_bits = f32_to_f16(scale * shape.min);
  random.bytes(data, size);
  for (std::size_t at = 0; at < size; at += block) {
    std::memcpy(data + at + shape.scale_at, &scale_bits, 2);
    if (shape.min != 0.0f) std::memcpy(data + at + shape.min_at, &min_bits, 2);
  }
}

// One draw gives a value, and by its lowest bits whether it is zero.
struct FloatDraw {
  float peak = 0;
  double zeros = 0;
  float operator()(FastRandom& random) const {
    const std::uint64_t bits = random.next();
    const float value = static_cast<float>(static_cast<std::int64_t>(bits) >> 40) * 0x1p-23f;
    return static_cast<double>(bits & 0xffff) < zeros * 0x1p16 ? 0.0f : peak * value;
  }
};

void fill_floats(DType dtype, const FloatDraw& draw, FastRandom& random, std::byte* data,
                 std::size_t size) {
  if (dtype == DType::kF32) {
    for (std::size_t at = 0; at < size; at += 4) {
      const float value = draw(random);
      std::memcpy(data + at, &value, 4);
    }
    return;
  }
  for (std::size_t at = 0; at < size; at += 2) {
    const float value = draw(random);
    const std::uint16_t half = dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(data + at, &half, 2);
  }
}

GgufWriter::Fill random_matrix(DType dtype, int columns, double zeros, std::uint64_t seed) {
  return [=](std::byte* data, std::size_t size) {
    FastRandom random(seed);
    const float deviation = 1.0f / std::sqrt(static_cast<float>(columns));
    const auto* shape = std::ranges::find(kBlockShapes, dtype, &BlockShape::dtype);
    if (shape != std::end(kBlockShapes)) {
      fill_blocks(*shape, deviation, random, data, size);
    } else {
      fill_floats(dtype, {deviation * std::sqrt(3.0f), zeros}, random, data, size);
    }
  };
}

void set_metadata(GgufWriter& writer, const RandomLlama& shape) {
  const auto set = [&](const char* key, int value) {
    writer.set_u32(std::string("llama.") + key, static_cast<std::uint32_t>(value));
  };
  writer.set_string("general.architecture", "llama");
  writer.set_string("general.name", "random");
  set("block_count", shape.num_layers);
  set("context_length", shape.context_length);
  set("embedding_length", shape.width);
  set("feed_forward_length", shape.ffn_width);
  set("attention.head_count", shape.q_heads);
  set("attention.head_count_kv", shape.kv_heads);
  set("attention.key_length", shape.head_dim);
  set("attention.value_length", shape.head_dim);
  set("rope.dimension_count", shape.head_dim);
  set("vocab_size", shape.vocab_size);
  writer.set_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  writer.set_f32("llama.rope.freq_base", shape.rope_base);
  set_test_vocabulary(writer, shape.vocab_size);
  if (!shape.chat_template.empty()) {
    writer.set_string("tokenizer.chat_template", shape.chat_template);
  }
}

}  // namespace

RandomLlama shape_of_1b() {
  return {.num_layers = 16,
          .width = 2048,
          .q_heads = 32,
          .kv_heads = 8,
          .head_dim = 64,
          .ffn_width = 8192,
          .vocab_size = 128256,
          .context_length = 8192,
          .chat_template = {}};
}

RandomLlama shape_of_8b() {
  return {.num_layers = 32,
          .width = 4096,
          .q_heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn_width = 14336,
          .vocab_size = 128256,
          .context_length = 8192,
          .tied = false,
          .rope_base = 500000.0f,
          .chat_template = {}};
}

void set_test_vocabulary(GgufWriter& writer, int vocab_size) {
  if (vocab_size < 320) throw std::runtime_error("the test vocabulary needs 320 tokens");
  constexpr std::int32_t kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6;
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> kinds = {kUnknown, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(byte));
    tokens.emplace_back(text);
    kinds.push_back(kByte);
  }
  const std::string space = "\xe2\x96\x81";
  for (const char* piece : {"t", "a", "h", "e", "th", "the", "he", "in", "n", "i", "o", "s", "b"}) {
    tokens.emplace_back(piece);
    if (piece[1] == '\0') tokens.push_back(space + piece);
  }
  tokens.push_back(space);
  tokens.push_back(space + "the");
  tokens.push_back(space + "th");
  for (char letter = 'c'; letter <= 'z'; ++letter) {
    if (std::string("hinoste").find(letter) == std::string::npos) tokens.emplace_back(1, letter);
  }
  while (tokens.size() < static_cast<std::size_t>(vocab_size)) {
    tokens.push_back(space + "w" + std::to_string(tokens.size()));
  }
  kinds.resize(tokens.size(), kNormal);
  std::vector<float> scores(tokens.size());
  for (std::size_t id = 259; id < scores.size(); ++id) scores[id] = 259.0f - static_cast<float>(id);
  writer.set_string("tokenizer.ggml.model", "llama");
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  writer.set_f32s("tokenizer.ggml.scores", scores);
  writer.set_i32s("tokenizer.ggml.token_type", kinds);
  writer.set_u32("tokenizer.ggml.unknown_token_id", 0);
  writer.set_u32("tokenizer.ggml.bos_token_id", 1);
  writer.set_u32("tokenizer.ggml.eos_token_id", 2);
  writer.set_bool("tokenizer.ggml.add_bos_token", true);
  writer.set_bool("tokenizer.ggml.add_eos_token", false);
  writer.set_bool("tokenizer.ggml.add_space_prefix", true);
}

GgufWriter random_llama(const RandomLlama& shape, DType dtype, std::uint64_t seed) {
  if (shape.zeros > 0 && dtype_block_values(dtype) > 1) {
    throw std::runtime_error("zeros are drawn one by one, and " + std::string(dtype_name(dtype)) +
                             " keeps values in blocks; use f32, f16 or bf16");
  }
  GgufWriter writer;
  set_metadata(writer, shape);
  std::uint64_t tensor_seed = seed * 1000003;
  double zeros = 0;
  const auto matrix = [&](const std::string& name, int columns, int rows) {
    writer.add_tensor(name, {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)},
                      dtype, random_matrix(dtype, columns, zeros, ++tensor_seed));
  };
  const auto ones = [&](const std::string& name) {
    writer.add_tensor(name, {static_cast<std::uint64_t>(shape.width)},
                      std::vector<float>(static_cast<std::size_t>(shape.width), 1.0f));
  };
  matrix("token_embd.weight", shape.width, shape.vocab_size);
  zeros = shape.zeros;
  if (!shape.tied) matrix("output.weight", shape.width, shape.vocab_size);
  ones("output_norm.weight");
  const int q_width = shape.q_heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    ones(block + "attn_norm.weight");
    matrix(block + "attn_q.weight", shape.width, q_width);
    matrix(block + "attn_k.weight", shape.width, kv_width);
    matrix(block + "attn_v.weight", shape.width, kv_width);
    matrix(block + "attn_output.weight", q_width, shape.width);
    ones(block + "ffn_norm.weight");
    matrix(block + "ffn_gate.weight", shape.width, shape.ffn_width);
    matrix(block + "ffn_up.weight", shape.width, shape.ffn_width);
    matrix(block + "ffn_down.weight", shape.ffn_width, shape.width);
  }
  return writer;
}

void write_random_llama(const std::string& path, const RandomLlama& shape, DType dtype,
                        std::uint64_t seed) {
  random_llama(shape, dtype, seed).save(path);
}

std::unique_ptr<model::Model> load_random_llama(const RandomLlama& shape, DType dtype,
                                                std::uint64_t seed) {
  const ScratchPath file("model.gguf");
  write_random_llama(file.string(), shape, dtype, seed);
  return model::load_model(file.string());  // the mapping outlives the name
}

}  // namespace tandem::test
