// SPDX-License-Identifier: Apache-2.0
//
// Models with FP8 matrices, made by the test, on the executor of any device: logits of a text, the
// tokens chosen, and perplexity.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/device.h"
#include "engine/executor/executor.h"
#include "model/families/family.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "support/f8_hub_model.h"
#include "support/reference/model.h"

namespace tandem::engine {

// A directory without tokenizer and chat template, which the executor does not need.
class DirectoryModel final : public model::Model {
 public:
  DirectoryModel(const test::SafetensorsWriter& weights, const nlohmann::json& config) {
    weights.save(folder_.file("model.safetensors"));
    test::write_text(folder_.file("config.json"), config.dump());
    checkpoint_ = std::make_unique<model::SafetensorsCheckpoint>(folder_.path());
    weights_ = model::read_family(*checkpoint_, config["vocab_size"].get<int>());
  }

  const model::ModelConfig& config() const override { return weights_.config; }
  const std::vector<model::LayerTensors>& layers() const override { return weights_.layers; }
  const TensorView& embedding() const override { return weights_.embedding; }
  const TensorView& output_norm() const override { return weights_.output_norm; }
  const TensorView& output() const override { return weights_.output; }
  const model::Tokenizer& tokenizer() const override { throw Error("test", "no tokenizer"); }
  const model::ChatTemplate* chat_template() const override { return nullptr; }
  const std::string& chat_template_error() const override { return no_error_; }

 private:
  const test::TemporaryFolder folder_;
  std::unique_ptr<model::SafetensorsCheckpoint> checkpoint_;
  model::FamilyWeights weights_;
  const std::string no_error_;
};

// Blocks of 128 that end inside a matrix, and matrices smaller than one.
inline test::F8HubModel f8_model(test::F8Layout layout) {
  return test::f8_hub_model({.width = 128, .q_heads = 4, .kv_heads = 2, .ffn_width = 304}, layout,
                            11);
}

inline std::vector<model::TokenId> f8_text() {
  std::mt19937 random(17);
  std::vector<model::TokenId> ids(40);
  for (model::TokenId& id : ids) id = static_cast<model::TokenId>(random() % 64);
  return ids;
}

using LogitRow = std::vector<float>;

// The logits behind every token of f8_text(), taken in chunks of `chunk`.
inline std::vector<LogitRow> logits_on(device::Device& device, const model::Model& model,
                                       const WeightOptions& weights, std::size_t chunk) {
  constexpr int kPageTokens = 16, kPages = 4;
  const model::ModelConfig& config = model.config();
  const auto compute = device.make_compute_unit();
  ExecutorOptions executor_options;
  executor_options.weights = weights;
  Executor executor(model, *compute, executor_options);
  device::AttentionUnitOptions options;
  options.geometry = {config.num_layers, config.q_heads, config.kv_heads,
                      config.head_dim,   kPageTokens,    DType::kF16};
  options.kv_bytes = device::page_image_bytes(options.geometry) * 100;
  options.max_pages = kPages;
  const auto unit = device.make_attention_unit(options);
  executor.add_unit(*unit);
  KvCache kv(kPageTokens, Placement::kSequences, false);
  kv.add_unit(kPages, 1.0);
  const std::vector<model::TokenId> ids = f8_text();
  PageTable table;
  EXPECT_TRUE(kv.extend(table, ids.size()));
  std::vector<LogitRow> logits;
  while (logits.size() < ids.size()) {
    const std::size_t begin = logits.size();
    const auto rows = std::span(ids).subspan(begin, std::min(chunk, ids.size() - begin));
    const RunnerItem item{rows, table.blocks, static_cast<int>(begin), LogitRows::kAll, 0};
    const auto lost = executor.run({&item, 1}, [&](std::size_t, int, auto values) {
      logits.emplace_back(values.begin(), values.end());
    });
    EXPECT_TRUE(lost.empty());
  }
  return logits;
}

inline std::vector<std::size_t> choices(const std::vector<LogitRow>& logits) {
  std::vector<std::size_t> best;
  for (const LogitRow& row : logits) {
    best.push_back(static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()));
  }
  return best;
}

inline double perplexity_of(const std::vector<LogitRow>& logits) {
  const std::vector<model::TokenId> ids = f8_text();
  std::vector<double> logprobs;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    double sum = 0;
    for (const float logit : logits[i]) sum += std::exp(static_cast<double>(logit));
    const auto next = static_cast<std::size_t>(ids[i + 1]);
    logprobs.push_back(static_cast<double>(logits[i][next]) - std::log(sum));
  }
  return reference::perplexity(logprobs);
}

inline double reference_perplexity(const model::Model& model) {
  return reference::perplexity(reference::log_probabilities(model, f8_text()));
}

}  // namespace tandem::engine
