// SPDX-License-Identifier: Apache-2.0
//
// FP8 matrices of published directories: every layout gives its original values, and each damage of
// a file or its configuration is an error that names it.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <optional>

#include "model/families/family.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "support/f8_hub_model.h"

namespace tandem::model {
namespace {

using nlohmann::json;
using test::F8HubModel;
using test::F8Layout;
using test::SafetensorsWriter;
using testing::AllOf;
using testing::HasSubstr;

constexpr F8Layout kLayouts[] = {F8Layout::kMatrix, F8Layout::kRow, F8Layout::kFbgemm,
                                 F8Layout::kBlock};
constexpr int kBlock = 32;  // 40 rows and 48 columns end inside one

F8HubModel small_model(F8Layout layout) {
  return test::f8_hub_model({.width = 32, .ffn_width = 48}, layout, 5, kBlock);
}

struct F8InMemory {
  F8InMemory(const SafetensorsWriter& writer, const json& config) : bytes(writer.bytes()) {
    SafetensorsParts parts;
    parts.directory = "dir";
    parts.config = read_hub_config(config.dump(), "dir/config.json");
    parts.shards.emplace_back(std::as_bytes(std::span(bytes.data(), bytes.size())),
                              "dir/model.safetensors");
    checkpoint.emplace(std::move(parts));
  }
  const std::string bytes;
  std::optional<SafetensorsCheckpoint> checkpoint;
};

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> values(static_cast<std::size_t>(view.rows * view.columns));
  for (std::int64_t row = 0; row < view.rows; ++row) {
    dequantize_row(view, row, values.data() + row * view.columns);
  }
  return values;
}

TEST(F8Checkpoint, HasTheValuesOfItsTwinInEveryLayout) {
  for (const F8Layout layout : kLayouts) {
    SCOPED_TRACE(static_cast<int>(layout));
    const F8HubModel model = small_model(layout);
    const F8InMemory f8(model.f8, model.config), f32(model.f32, model.f32_config);
    const FamilyWeights got = read_family(*f8.checkpoint, 64),
                        want = read_family(*f32.checkpoint, 64);
    EXPECT_EQ(got.config.quantization, "f8_e4m3");
    EXPECT_EQ(got.config.parameters, want.config.parameters);
    for (std::size_t layer = 0; layer < got.layers.size(); ++layer) {
      const LayerTensors &a = got.layers[layer], &b = want.layers[layer];
      const std::pair<const TensorView*, const TensorView*> pairs[] = {
          {&a.wq, &b.wq}, {&a.wk, &b.wk},     {&a.wv, &b.wv},    {&a.wo, &b.wo},
          {&a.up, &b.up}, {&a.gate, &b.gate}, {&a.down, &b.down}};
      for (const auto& [mine, twin] : pairs) {
        EXPECT_EQ(mine->dtype, DType::kF8E4M3) << mine->name;
        EXPECT_EQ(values_of(*mine), values_of(*twin)) << mine->name;
      }
    }
  }
}

TEST(F8Checkpoint, FindsScalesInAnotherShard) {
  const F8HubModel model = small_model(F8Layout::kBlock);
  const std::string whole = model.f8.bytes();
  const SafetensorsFile file(std::as_bytes(std::span(whole.data(), whole.size())), "whole");
  SafetensorsWriter weights, scales;
  WeightMap map;
  map.shards = {"a.safetensors", "b.safetensors"};
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const bool is_scale = tensor.name.ends_with("_scale_inv");
    (is_scale ? scales : weights)
        .add_raw(tensor.name, tensor.type, tensor.shape,
                 {reinterpret_cast<const char*>(tensor.data), tensor.size_bytes});
    map.shard_of[tensor.name] = is_scale ? 1 : 0;
  }
  const std::string a = weights.bytes(), b = scales.bytes();
  SafetensorsParts parts;
  parts.directory = "dir";
  parts.config = read_hub_config(model.config.dump(), "dir/config.json");
  parts.map = map;
  parts.shards.emplace_back(std::as_bytes(std::span(a.data(), a.size())), "dir/a.safetensors");
  parts.shards.emplace_back(std::as_bytes(std::span(b.data(), b.size())), "dir/b.safetensors");
  const SafetensorsCheckpoint checkpoint(std::move(parts));
  const F8InMemory twin(model.f32, model.f32_config);
  const char* name = "blk.1.ffn_down.weight";
  EXPECT_EQ(values_of(checkpoint.view(*checkpoint.find_tensor(name))),
            values_of(twin.checkpoint->view(*twin.checkpoint->find_tensor(name))));
}

std::string f8_error(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_config(F8Layout layout,
                            const std::function<void(json& quantization)>& change) {
  F8HubModel model = small_model(layout);
  change(model.config["quantization_config"]);
  return f8_error([&] { F8InMemory(model.f8, model.config); });
}

struct ConfigCase {
  F8Layout layout;
  std::function<void(json&)> change;
  const char *field, *what;
};

json& weights(json& q) { return q["config_groups"]["group_0"]["weights"]; }

const std::vector<ConfigCase>& config_cases() {
  static const std::vector<ConfigCase> kCases = {
      {F8Layout::kMatrix, [](json& q) { q = "fp8"; }, "quantization_config'", "not an object"},
      {F8Layout::kMatrix, [](json& q) { q["quant_method"] = "gptq"; }, ".quant_method'",
       "\"gptq\""},
      {F8Layout::kMatrix, [](json& q) { q.erase("quant_method"); }, ".quant_method'", "nothing"},
      {F8Layout::kBlock, [](json& q) { q["fmt"] = "e5m2"; }, ".fmt'", "\"e5m2\""},
      {F8Layout::kBlock, [](json& q) { q["activation_scheme"] = 3; }, ".activation_scheme'", "3"},
      {F8Layout::kBlock, [](json& q) { q["weight_block_size"] = 128; }, ".weight_block_size'",
       "two"},
      {F8Layout::kBlock, [](json& q) { q["weight_block_size"] = {128}; }, ".weight_block_size'",
       "two"},
      {F8Layout::kBlock,
       [](json& q) {
         q["weight_block_size"] = {0, 16};
       },
       ".weight_block_size'", "0"},
      {F8Layout::kBlock,
       [](json& q) {
         q["weight_block_size"] = {-1, 16};
       },
       ".weight_block_size'", "-1"},
      {F8Layout::kBlock,
       [](json& q) {
         q["weight_block_size"] = {1.5, 16};
       },
       ".weight_block_size'", "1.5"},
      {F8Layout::kBlock,
       [](json& q) {
         q["weight_block_size"] = {32, 1ull << 62};
       },
       ".weight_block_size'", "1048576"},
      {F8Layout::kBlock,
       [](json& q) {
         q["weight_block_size"] = {32, 24};
       },
       ".weight_block_size'", "24 columns"},
      {F8Layout::kFbgemm, [](json& q) { q["modules_to_not_convert"] = "lm_head"; },
       ".modules_to_not_convert'", "array"},
      {F8Layout::kRow, [](json& q) { q["ignore"] = {1}; }, ".ignore'", "array of names"},
      {F8Layout::kRow, [](json& q) { q["format"] = "pack-quantized"; }, ".format'",
       "pack-quantized"},
      {F8Layout::kRow,
       [](json& q) {
         q["sparsity_config"] = {{"format", "sparse-24"}};
       },
       ".sparsity_config.format'", "sparse-24"},
      {F8Layout::kRow, [](json& q) { q["config_groups"] = json::object(); }, ".config_groups'",
       "groups"},
      {F8Layout::kRow, [](json& q) { q["config_groups"]["group_0"] = 1; },
       ".config_groups.group_0.weights'", "object"},
      {F8Layout::kRow, [](json& q) { weights(q)["num_bits"] = 4; }, ".weights'", "4 bits"},
      {F8Layout::kRow, [](json& q) { weights(q)["type"] = "int"; }, ".weights'", "\"int\""},
      {F8Layout::kRow, [](json& q) { weights(q)["symmetric"] = false; }, ".symmetric'", "false"},
      {F8Layout::kRow, [](json& q) { weights(q)["strategy"] = "group"; }, ".strategy'",
       "\"group\""},
      {F8Layout::kRow, [](json& q) { weights(q)["strategy"] = "block"; }, ".block_structure'",
       "two"},
  };
  return kCases;
}

TEST(F8Checkpoint, NamesTheFieldOfAConfigurationThatIsNotRead) {
  for (const ConfigCase& one : config_cases()) {
    EXPECT_THAT(error_of_config(one.layout, one.change),
                AllOf(HasSubstr("dir/config.json: field 'quantization_config"),
                      HasSubstr(one.field), HasSubstr(one.what)));
  }
}

TEST(F8Checkpoint, NamesTheListThatHasAModule) {
  const auto change = [](json& q) {
    q["ignored_layers"] = {"model.layers.1.mlp.down_proj"};
    q["modules_to_not_convert"] = {"lm_head"};
  };
  EXPECT_THAT(error_of_config(F8Layout::kBlock, change),
              AllOf(HasSubstr("tensor 'model.layers.1.mlp.down_proj.weight'"),
                    HasSubstr("'quantization_config.ignored_layers'")));
}

TEST(F8Checkpoint, TakesPatternsForNoNamesOfModules) {
  json config = small_model(F8Layout::kRow).config["quantization_config"];
  config["ignore"] = {"re:.*down_proj", "lm_head", "re:"};
  const HubQuantization read = read_hub_quantization(config, "c: field 'q");
  EXPECT_THAT(read.modules_left_alone, testing::ElementsAre(testing::Pair("lm_head", "ignore")));
}

// A model of one module's tensors changed: `name` is left out where `type` is null.
std::string f8_error_of_tensor(F8Layout layout, const std::string& name, const char* type,
                               const std::vector<std::uint64_t>& shape, const std::string& data) {
  const F8HubModel model = small_model(layout);
  const std::string whole = model.f8.bytes();
  const SafetensorsFile file(std::as_bytes(std::span(whole.data(), whole.size())), "whole");
  SafetensorsWriter changed;
  bool has_it = false;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (tensor.name == name) has_it = true;
    if (tensor.name == name && type == nullptr) continue;
    if (tensor.name == name) {
      changed.add_raw(name, type, shape, data);
    } else {
      changed.add_raw(tensor.name, tensor.type, tensor.shape,
                      {reinterpret_cast<const char*>(tensor.data), tensor.size_bytes});
    }
  }
  if (!has_it) changed.add_raw(name, type, shape, data);
  return f8_error([&] { F8InMemory(changed, model.config); });
}

std::string f32_bytes(std::size_t count, float value) {
  std::string data;
  for (std::size_t i = 0; i < count; ++i) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return data;
}

TEST(F8Checkpoint, NamesScalesThatDoNotFitTheirMatrix) {
  const std::string down = "model.layers.1.mlp.down_proj";  // [32, 48]
  const std::string scale = down + ".weight_scale", inverse = down + ".weight_scale_inv";
  const auto expect = [&](const std::string& got, const std::string& tensor, const char* what) {
    EXPECT_THAT(got,
                AllOf(HasSubstr("model.safetensors: tensor '" + tensor + "'"), HasSubstr(what)));
  };
  expect(f8_error_of_tensor(F8Layout::kRow, scale, nullptr, {}, ""), down + ".weight",
         "no weight_scale");
  expect(f8_error_of_tensor(F8Layout::kRow, scale, "F32", {31, 1}, f32_bytes(31, 1)), scale,
         "has shape [31, 1], config.json requires one per row of a matrix [32, 48]");
  expect(f8_error_of_tensor(F8Layout::kRow, scale, "F32", {1}, f32_bytes(1, 1)), scale,
         "one per row");
  expect(f8_error_of_tensor(F8Layout::kMatrix, scale, "F32", {32, 2}, f32_bytes(64, 1)), scale,
         "one or one per row");
  expect(f8_error_of_tensor(F8Layout::kBlock, inverse, "F32", {1, 3}, f32_bytes(3, 1)), inverse,
         "one per block of 32 x 32");
  expect(f8_error_of_tensor(F8Layout::kBlock, inverse, "F32", {2, 1}, f32_bytes(2, 1)), inverse,
         "has shape [2, 1]");
  expect(f8_error_of_tensor(F8Layout::kBlock, inverse, "F8_E8M0", {1, 2}, "ab"), inverse,
         "F8_E8M0");
  expect(f8_error_of_tensor(F8Layout::kBlock, inverse, "F8_E4M3", {1, 2}, "ab"), inverse,
         "F8_E4M3");
  for (const float value : {-1.0f, std::nanf(""), INFINITY, 0x1p101f}) {
    expect(f8_error_of_tensor(F8Layout::kRow, scale, "F32", {32}, f32_bytes(32, value)), scale,
           "not finite");
  }
  expect(f8_error_of_tensor(F8Layout::kRow, inverse, "F32", {32}, f32_bytes(32, 1)),
         down + ".weight", "both");
  expect(f8_error_of_tensor(F8Layout::kRow, down + ".weight", "BF16", {32, 48},
                            std::string(3072, 'a')),
         scale, "there is no 'model.layers.1.mlp.down_proj.weight' in F8_E4M3");
  expect(f8_error_of_tensor(F8Layout::kRow, "model.layers.7.a.weight_scale", "F32", {1},
                            f32_bytes(1, 1)),
         "model.layers.7.a.weight_scale", "there is no");
  EXPECT_EQ(f8_error_of_tensor(F8Layout::kRow, scale, "F32", {32}, f32_bytes(32, 0)), "no error");
}

TEST(F8Checkpoint, NamesMatricesThatMayNotBeF8) {
  const std::string embedding = "model.embed_tokens.weight", norm = "model.norm.weight";
  EXPECT_THAT(
      f8_error_of_tensor(F8Layout::kMatrix, embedding, "F8_E4M3", {64, 32}, std::string(2048, 'a')),
      HasSubstr("tensor 'model.embed_tokens.weight': an embedding in F8_E4M3"));
  EXPECT_THAT(f8_error_of_tensor(F8Layout::kMatrix, norm, "F8_E4M3", {32}, std::string(32, 'a')),
              HasSubstr("only matrices"));
  // listed as left alone
  EXPECT_THAT(
      f8_error_of_tensor(F8Layout::kRow, "lm_head.weight", "F8_E4M3", {64, 32},
                         std::string(2048, 'a')),
      AllOf(HasSubstr("tensor 'lm_head.weight'"), HasSubstr("'quantization_config.ignore'")));
  const F8HubModel model = small_model(F8Layout::kRow);
  EXPECT_THAT(f8_error([&] { F8InMemory(model.f8, model.f32_config); }),
              HasSubstr("no quantization_config"));
  // Half a matrix's bytes: the file's own check.
  EXPECT_THAT(f8_error_of_tensor(F8Layout::kRow, "lm_head.weight", "F8_E4M3", {64, 32},
                                 std::string(1024, 'a')),
              HasSubstr("does not need the 1024 bytes"));
}

// Phi-3, whose q, k and v are rows [0, 32), [32, 48) and [48, 64) of one tensor.
std::string error_of_fused(std::uint64_t block_rows) {
  json config = test::hub_config({.num_layers = 1, .vocab_size = 8});
  config["architectures"] = {"Phi3ForCausalLM"};
  config["quantization_config"] = {{"quant_method", "fp8"},
                                   {"weight_block_size", {block_rows, 32}}};
  SafetensorsWriter writer;
  const auto ones = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : shape) count *= dim;
    writer.add(name, shape, std::vector<float>(count, 1.0f));
  };
  const std::string layer = "model.layers.0.";
  ones("model.embed_tokens.weight", {8, 32});
  ones("lm_head.weight", {8, 32});
  for (const std::string& norm :
       {std::string("model.norm"), layer + "input_layernorm", layer + "post_attention_layernorm"}) {
    ones(norm + ".weight", {32});
  }
  ones(layer + "self_attn.o_proj.weight", {32, 32});
  ones(layer + "mlp.gate_up_proj.weight", {96, 32});
  ones(layer + "mlp.down_proj.weight", {32, 48});
  writer.add_raw(layer + "self_attn.qkv_proj.weight", "F8_E4M3", {64, 32}, std::string(2048, '8'));
  const std::uint64_t blocks = (64 + block_rows - 1) / block_rows;
  writer.add(layer + "self_attn.qkv_proj.weight_scale_inv", {blocks, 1},
             blocks == 1 ? std::vector<float>{1} : std::vector<float>{1, 2});
  return f8_error([&] {
    const F8InMemory model(writer, config);
    const FamilyWeights weights = read_family(*model.checkpoint, 8);
    EXPECT_EQ(values_of(weights.layers[0].wq).back(), 1.0f);
    EXPECT_EQ(values_of(weights.layers[0].wk).back(), block_rows == 32 ? 2.0f : 1.0f);
  });
}

TEST(F8Checkpoint, MatricesInOneTensorAreCutBetweenBlocksOfScales) {
  EXPECT_EQ(error_of_fused(32), "no error");
  EXPECT_EQ(error_of_fused(64), "no error");
  EXPECT_THAT(error_of_fused(40),
              AllOf(HasSubstr("self_attn.qkv_proj.weight'"), HasSubstr("inside blocks of scales")));
}

}  // namespace
}  // namespace tandem::model
