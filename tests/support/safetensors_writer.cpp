// SPDX-License-Identifier: Apache-2.0
//
// Writing of safetensors (declared in safetensors_writer.h).
#include "support/safetensors_writer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace tandem::test {

void SafetensorsWriter::add_raw(const std::string& name, const std::string& type,
                                const std::vector<std::uint64_t>& shape, std::string_view data) {
  header_[name] = {{"dtype", type},
                   {"shape", shape},
                   {"data_offsets", {data_.size(), data_.size() + data.size()}}};
  data_ += data;
}

void SafetensorsWriter::add(const std::string& name, const std::vector<std::uint64_t>& shape,
                            const std::vector<float>& values, DType dtype) {
  std::string data;
  for (const float value : values) {
    char bytes[4];
    std::size_t size = 2;
    if (dtype == DType::kF32) {
      size = 4;
      std::memcpy(bytes, &value, size);
    } else {
      const std::uint16_t half = dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
      std::memcpy(bytes, &half, size);
    }
    data.append(bytes, size);
  }
  add_raw(name, dtype == DType::kF32 ? "F32" : dtype == DType::kF16 ? "F16" : "BF16", shape, data);
}

std::string SafetensorsWriter::framed(std::string_view header, std::string_view data) {
  const std::uint64_t size = header.size();
  std::string out(sizeof size, '\0');
  std::memcpy(out.data(), &size, sizeof size);
  return out.append(header).append(data);
}

std::string SafetensorsWriter::bytes() const {
  std::string header = header_.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return framed(header, data_);
}

void SafetensorsWriter::save(const std::string& path) const { write_text(path, bytes()); }

nlohmann::json hub_config(const HubModel& shape) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"hidden_size", shape.width},
          {"intermediate_size", shape.ffn_width},
          {"max_position_embeddings", 256},
          {"num_attention_heads", shape.q_heads},
          {"num_hidden_layers", shape.num_layers},
          {"num_key_value_heads", shape.kv_heads},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", shape.ties_embeddings},
          {"vocab_size", shape.vocab_size}};
}

SafetensorsWriter hub_weights(const HubModel& shape, DType dtype, std::uint64_t seed) {
  SafetensorsWriter writer;
  std::mt19937_64 random(seed);
  const auto matrix = [&](const std::string& name, int rows, int columns) {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(columns)));
    for (float& value : values) value = normal(random);
    writer.add(name, {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns)},
               values, dtype);
  };
  const auto ones = [&](const std::string& name) {
    writer.add(name, {static_cast<std::uint64_t>(shape.width)},
               std::vector<float>(static_cast<std::size_t>(shape.width), 1.0f), dtype);
  };
  const int kv_width = shape.width / shape.q_heads * shape.kv_heads;
  matrix("model.embed_tokens.weight", shape.vocab_size, shape.width);
  if (!shape.ties_embeddings) matrix("lm_head.weight", shape.vocab_size, shape.width);
  ones("model.norm.weight");
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    ones(name + "input_layernorm.weight");
    ones(name + "post_attention_layernorm.weight");
    matrix(name + "self_attn.q_proj.weight", shape.width, shape.width);
    matrix(name + "self_attn.k_proj.weight", kv_width, shape.width);
    matrix(name + "self_attn.v_proj.weight", kv_width, shape.width);
    matrix(name + "self_attn.o_proj.weight", shape.width, shape.width);
    matrix(name + "mlp.gate_proj.weight", shape.ffn_width, shape.width);
    matrix(name + "mlp.up_proj.weight", shape.ffn_width, shape.width);
    matrix(name + "mlp.down_proj.weight", shape.width, shape.ffn_width);
  }
  return writer;
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "tandem-model-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tandem::test
