// SPDX-License-Identifier: Apache-2.0
//
// Every family's logits against those that Hugging Face Transformers gave in float64 for the same
// small random weights (tests/host/model/families/record_families.py), as a GGUF file and as the
// directory that it saved, in chunks of several sizes and step by step, on one unit and on two, of
// the device that the build is for.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/executor/executor.h"
#include "host/engine/executor/recorded_families_device.h"
#include "model/families/family.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "support/reference/compare.h"
#include "support/tree.h"

namespace tandem::engine {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = test::source_dir() / "tests/host/model/families/recorded";

// The weights of a checkpoint without tokenizer and chat template, which the executor does not
// need.
class RecordedModel final : public model::Model {
 public:
  RecordedModel(const fs::path& folder, bool is_gguf, int vocab_size) {
    if (is_gguf) {
      file_ = std::make_unique<model::GgufFile>((folder / "model.gguf").string());
    } else {
      file_ = std::make_unique<model::SafetensorsCheckpoint>(folder.string());
    }
    weights_ = model::read_family(*file_, vocab_size);
  }

  model::FamilyWeights& weights() { return weights_; }

  const model::ModelConfig& config() const override { return weights_.config; }
  const std::vector<model::LayerTensors>& layers() const override { return weights_.layers; }
  const TensorView& embedding() const override { return weights_.embedding; }
  const TensorView& output_norm() const override { return weights_.output_norm; }
  const TensorView& output() const override { return weights_.output; }
  const model::Tokenizer& tokenizer() const override { throw Error("test", "no tokenizer"); }
  const model::ChatTemplate* chat_template() const override { return nullptr; }
  const std::string& chat_template_error() const override { return no_error_; }

 private:
  std::unique_ptr<model::Checkpoint> file_;
  model::FamilyWeights weights_;
  const std::string no_error_;
};

using Rows = std::vector<std::vector<float>>;       // [tokens, vocab]
using Expected = std::vector<std::vector<double>>;  // [positions, vocab]

struct RecordedCase {
  explicit RecordedCase(const fs::path& folder) {
    std::ifstream file(folder / "case.json");
    const auto json = nlohmann::json::parse(file);
    tokens = json["tokens"].get<std::vector<model::TokenId>>();
    positions = json["positions"].get<std::vector<std::size_t>>();
    logits = json["logits"].get<Expected>();
    rounded_logits = json["logits_f16_cache"].get<Expected>();
  }
  std::vector<model::TokenId> tokens;
  std::vector<std::size_t> positions;
  Expected logits, rounded_logits;

  std::vector<model::TokenId> first_tokens(std::size_t count) const {
    return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  // The largest error at a recorded position that was reached.
  double worst(const Expected& want, const Rows& got) const {
    double worst = 0;
    for (std::size_t i = 0; i < positions.size() && positions[i] < got.size(); ++i) {
      worst = std::max(worst, reference::nmse<double>(got[positions[i]], want[i]));
    }
    return worst;
  }
};

constexpr int kRecordedPageTokens = 16, kPages = 16;

// An executor on one or two attention units of the device.
class Rig {
 public:
  Rig(const model::Model& model, std::optional<DType> weights, int num_units)
      : device_(families_device().backend.open(0, {.num_threads = 2})),
        compute_(device_->make_compute_unit()),
        kv_(kRecordedPageTokens, num_units > 1 ? Placement::kInterleave : Placement::kSequences,
            false),
        executor_(model, *compute_, executor_options(weights)) {
    const model::ModelConfig& config = model.config();
    device::AttentionUnitOptions options;
    options.geometry = {config.num_layers, config.q_heads,      config.kv_heads,
                        config.head_dim,   kRecordedPageTokens, DType::kF16};
    options.kv_bytes = device::page_image_bytes(options.geometry) * 100;
    options.max_pages = kPages;
    for (int i = 0; i < num_units; ++i) {
      units_.push_back(device_->make_attention_unit(options));
      executor_.add_unit(*units_.back());
      kv_.add_unit(kPages, 1.0);
    }
  }

  static ExecutorOptions executor_options(std::optional<DType> weights) {
    ExecutorOptions options;
    options.max_logit_rows = 5;
    options.weights.quantize = weights;
    return options;
  }

  // The logits behind every token, of two sequences of the same tokens in sub-batches of their own,
  // the second one chunk behind the first.
  std::array<Rows, 2> run(const std::vector<model::TokenId>& tokens, std::size_t chunk) {
    std::array<PageTable, 2> tables;
    for (PageTable& table : tables) EXPECT_TRUE(kv_.extend(table, tokens.size()));
    std::array<Rows, 2> logits;
    for (std::size_t step = 0; logits[1].size() < tokens.size(); ++step) {
      std::vector<RunnerItem> items;
      std::vector<std::size_t> owners;
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t begin = logits[i].size();
        if (begin == tokens.size() || step < i) continue;
        const auto rows = std::span(tokens).subspan(begin, std::min(chunk, tokens.size() - begin));
        items.push_back({rows, tables[i].blocks, static_cast<int>(begin), LogitRows::kAll,
                         static_cast<int>(i)});
        owners.push_back(i);
      }
      const auto lost = executor_.run(items, [&](std::size_t item, int, auto values) {
        logits[owners[item]].emplace_back(values.begin(), values.end());
      });
      EXPECT_TRUE(lost.empty());
    }
    return logits;
  }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::vector<std::unique_ptr<device::AttentionUnit>> units_;
  KvCache kv_;
  Executor executor_;
};

class RecordedFamily : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_.backend.enumerate({}).empty()) return;
    const std::string why = device_.backend.unavailable_reason();
    GTEST_SKIP() << (why.empty() ? "no such device here" : why);
  }
  const FamiliesDevice device_ = families_device();
};

class RecordedFamilies : public RecordedFamily,
                         public testing::WithParamInterface<std::tuple<const char*, bool>> {};

TEST_P(RecordedFamilies, AnswerAsTheyDidElsewhere) {
  const auto& [name, is_gguf] = GetParam();
  const RecordedCase recorded(kFolder / name);
  const RecordedModel model(kFolder / name, is_gguf, static_cast<int>(recorded.logits[0].size()));
  for (const FamiliesRun& run : device_.runs) {
    const auto tokens =
        recorded.first_tokens(run.num_tokens > 0 ? run.num_tokens : recorded.tokens.size());
    for (const std::size_t rows : run.chunks) {
      const std::size_t chunk = rows > 0 ? rows : tokens.size();
      for (const int num_units : run.num_units) {
        SCOPED_TRACE("chunks of " + std::to_string(chunk) +
                     ", units: " + std::to_string(num_units) + (run.weights ? ", widened" : ""));
        for (const Rows& got : Rig(model, run.weights, num_units).run(tokens, chunk)) {
          ASSERT_EQ(got.size(), tokens.size());
          EXPECT_LT(recorded.worst(recorded.logits, got), run.bound);
          EXPECT_LT(recorded.worst(recorded.rounded_logits, got), run.bound_of_rounded);
        }
      }
    }
  }
}

struct Mistake {
  const char* family;
  const char* what;
  void (*make)(model::FamilyWeights& weights);
};

void for_windows(model::FamilyWeights& weights, int difference) {
  for (int& window : weights.config.windows) window += window > 0 ? difference : 0;
}

using Weights = model::FamilyWeights;
const Mistake kMistakes[] = {
    {"llama", "pairs of the other kind",
     [](Weights& w) { w.config.rope.interleaved = !w.config.rope.interleaved; }},
    {"mistral", "a window too long by one", [](Weights& w) { for_windows(w, 1); }},
    {"mistral", "a window too short by one", [](Weights& w) { for_windows(w, -1); }},
    {"mixtral", "shares not scaled", [](Weights& w) { w.config.experts.normalise = false; }},
    {"mixtral", "one expert less", [](Weights& w) { w.config.experts.used -= 1; }},
    {"qwen2", "no bias of k", [](Weights& w) { w.layers[1].bk = {}; }},
    {"qwen2", "no bias of v", [](Weights& w) { w.layers[0].bv = {}; }},
    {"qwen2moe", "shares scaled", [](Weights& w) { w.config.experts.normalise = true; }},
    {"qwen2moe", "all of the shared expert", [](Weights& w) { w.layers[1].shared_gate = {}; }},
    {"qwen3", "no norm of q's heads", [](Weights& w) { w.layers[0].q_norm = {}; }},
    {"qwen3moe", "no norm of k's heads", [](Weights& w) { w.layers[1].k_norm = {}; }},
    {"gemma2", "windows in the other layers",
     [](Weights& w) {
       for (int& window : w.config.windows) window = window > 0 ? 0 : 9;
     }},
    {"gemma2", "no cap on scores", [](Weights& w) { w.config.attention_softcap = 0; }},
    {"gemma2", "no cap on logits", [](Weights& w) { w.config.logit_softcap = 0; }},
    {"gemma2", "embeddings as they are", [](Weights& w) { w.config.embedding_scale = 1; }},
    {"gemma2", "another gate", [](Weights& w) { w.config.gate = model::Gate::kSilu; }},
    {"gemma2", "another scale of scores", [](Weights& w) { w.config.attention_scale = 0.25f; }},
    {"gemma2", "no norm behind attention",
     [](Weights& w) { w.layers[2].attention_post_norm = {}; }},
    {"gemma3", "no norm behind the feed-forward",
     [](Weights& w) { w.layers[6].ffn_post_norm = {}; }},
    {"gemma3", "one rotation for all layers", [](Weights& w) { w.config.local_rope = {}; }},
    {"gemma3", "a window too long by one", [](Weights& w) { for_windows(w, 1); }},
    {"phi3", "a window too short by one", [](Weights& w) { for_windows(w, -1); }},
    {"phi3", "no factor of attention", [](Weights& w) { w.config.rope.magnitude = 1; }},
    {"phi3", "gate and up in the other order",
     [](Weights& w) { std::swap(w.layers[0].gate, w.layers[0].up); }},
};

TEST_F(RecordedFamily, TellsEveryMistake) {
  const FamiliesRun& run = device_.runs.front();
  for (const Mistake& mistake : kMistakes) {
    const fs::path folder = kFolder / mistake.family;
    const RecordedCase recorded(folder);
    RecordedModel model(folder, true, static_cast<int>(recorded.logits[0].size()));
    mistake.make(model.weights());
    const auto logits = Rig(model, run.weights, 1).run(recorded.tokens, 30);
    EXPECT_GT(recorded.worst(recorded.logits, logits[0]), 10 * run.bound)
        << mistake.family << ": " << mistake.what;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedFamilies,
                         testing::Combine(testing::Values("llama", "mistral", "mixtral", "qwen2",
                                                          "qwen2moe", "qwen3", "qwen3moe", "gemma2",
                                                          "gemma3", "phi3"),
                                          testing::ValuesIn(families_device().is_gguf)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_gguf" : "_directory");
                         });

}  // namespace
}  // namespace tandem::engine
