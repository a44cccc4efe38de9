// SPDX-License-Identifier: Apache-2.0
//
// Random matrices, quantised block by block to the largest magnitude of each.
#include "support/f8_hub_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace tandem::test {
namespace {

using Shape = std::vector<std::uint64_t>;

nlohmann::json quantization_of(F8Layout layout, int block) {
  if (layout == F8Layout::kRow) {
    const nlohmann::json weights = {
        {"num_bits", 8}, {"type", "float"}, {"symmetric", true}, {"strategy", "channel"}};
    return {{"quant_method", "compressed-tensors"},
            {"format", "float-quantized"},
            {"ignore", {"lm_head", "re:.*vision.*"}},
            {"kv_cache_scheme", nullptr},
            {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}};
  }
  if (layout == F8Layout::kFbgemm) {
    return {{"quant_method", "fbgemm_fp8"},
            {"activation_scale_ub", 1200.0},
            {"modules_to_not_convert", {"lm_head"}}};
  }
  nlohmann::json fp8 = {{"quant_method", "fp8"}, {"modules_to_not_convert", nullptr}};
  fp8["activation_scheme"] = layout == F8Layout::kBlock ? "dynamic" : "static";
  if (layout == F8Layout::kBlock) {
    fp8["fmt"] = "e4m3";
    fp8["weight_block_size"] = {block, block};
  }
  return fp8;
}

class Maker {
 public:
  Maker(F8HubModel& model, F8Layout layout, std::uint64_t seed, int block)
      : model_(model), layout_(layout), random_(seed), block_(static_cast<std::size_t>(block)) {}

  std::vector<float> randoms(std::size_t rows, std::size_t columns) {
    std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(columns)));
    std::vector<float> values(rows * columns);
    for (float& value : values) value = normal(random_);
    return values;
  }

  void plain(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    model_.f8.add(name, shape, values);
    model_.f32.add(name, shape, values);
  }

  void matrix(const std::string& module, int num_rows, int num_columns) {
    const auto rows = static_cast<std::size_t>(num_rows);
    const auto columns = static_cast<std::size_t>(num_columns);
    std::vector<float> values = randoms(rows, columns);
    const std::size_t height = layout_ == F8Layout::kMatrix  ? rows
                               : layout_ == F8Layout::kBlock ? block_
                                                             : 1;
    const std::size_t width = layout_ == F8Layout::kBlock ? block_ : columns;
    std::string codes(values.size(), '\0');
    std::vector<float> scales;
    for (std::size_t row = 0; row < rows; row += height) {
      for (std::size_t column = 0; column < columns; column += width) {
        scales.push_back(quantise(
            values, codes, columns,
            {row, std::min(row + height, rows), column, std::min(column + width, columns)}));
      }
    }
    const Shape shape = {rows, columns};
    model_.f32.add(module + ".weight", shape, values);
    model_.f8.add_raw(module + ".weight", "F8_E4M3", shape, codes);
    add_scales(module, scales, {(rows - 1) / height + 1, (columns - 1) / width + 1});
    ++model_.num_f8_matrices;
  }

 private:
  struct Block {
    std::size_t first_row, last_row, first_column, last_column;
  };

  // Codes of a block, what they are worth in place of its values, and its scale.
  float quantise(std::vector<float>& values, std::string& codes, std::size_t columns,
                 const Block& block) const {
    const auto for_each = [&](const auto& body) {
      for (std::size_t row = block.first_row; row < block.last_row; ++row) {
        for (std::size_t i = block.first_column; i < block.last_column; ++i)
          body(row * columns + i);
      }
    };
    float peak = 0;
    for_each([&](std::size_t at) { peak = std::max(peak, std::fabs(values[at])); });
    float scale = peak / 448.0f;
    if (layout_ == F8Layout::kRow) scale = bf16_to_f32(f32_to_bf16(scale));
    for_each([&](std::size_t at) {
      const std::uint8_t code = f32_to_f8(values[at] / scale);
      codes[at] = static_cast<char>(code);
      values[at] = f8_to_f32(code) * scale;
    });
    return scale;
  }

  void add_scales(const std::string& module, const std::vector<float>& scales, const Shape& shape) {
    switch (layout_) {
      case F8Layout::kMatrix:
        model_.f8.add(module + ".weight_scale", {}, scales);
        model_.f8.add(module + ".input_scale", {1}, {0.5f});
        return;
      case F8Layout::kRow:
        return model_.f8.add(module + ".weight_scale", shape, scales, DType::kBF16);
      case F8Layout::kFbgemm:
        return model_.f8.add(module + ".weight_scale", shape, scales);
      case F8Layout::kBlock:
        return model_.f8.add(module + ".weight_scale_inv", shape, scales);
    }
  }

  F8HubModel& model_;
  const F8Layout layout_;
  std::mt19937_64 random_;
  const std::size_t block_;
};

}  // namespace

F8HubModel f8_hub_model(const HubModel& shape, F8Layout layout, std::uint64_t seed, int block) {
  F8HubModel model;
  model.f32_config = model.config = hub_config(shape);
  model.config["quantization_config"] = quantization_of(layout, block);
  Maker maker(model, layout, seed, block);
  const auto width = static_cast<std::size_t>(shape.width);
  const auto vocab = static_cast<std::size_t>(shape.vocab_size);
  const std::vector<float> ones(width, 1.0f);
  maker.plain("model.embed_tokens.weight", {vocab, width}, maker.randoms(vocab, width));
  maker.plain("lm_head.weight", {vocab, width}, maker.randoms(vocab, width));
  maker.plain("model.norm.weight", {width}, ones);
  const int kv_width = shape.width / shape.q_heads * shape.kv_heads;
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    maker.plain(name + "input_layernorm.weight", {width}, ones);
    maker.plain(name + "post_attention_layernorm.weight", {width}, ones);
    maker.matrix(name + "self_attn.q_proj", shape.width, shape.width);
    maker.matrix(name + "self_attn.k_proj", kv_width, shape.width);
    maker.matrix(name + "self_attn.v_proj", kv_width, shape.width);
    maker.matrix(name + "self_attn.o_proj", shape.width, shape.width);
    maker.matrix(name + "mlp.gate_proj", shape.ffn_width, shape.width);
    maker.matrix(name + "mlp.up_proj", shape.ffn_width, shape.width);
    maker.matrix(name + "mlp.down_proj", shape.width, shape.ffn_width);
  }
  return model;
}

}  // namespace tandem::test
