// SPDX-License-Identifier: Apache-2.0
//
// The draft model shares the device with the model, so both use the same threads.
#include "apps/draft_choice.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "apps/memory_plan.h"
#include "common/error.h"
#include "common/text_parts.h"
#include "engine/executor/executor.h"
#include "engine/speculation/draft_model.h"

namespace tandem::apps {
namespace {

constexpr int kDraftPageTokens = 16;
constexpr std::uint64_t kShareOfKv = 8;
constexpr std::uint64_t kUsualKvBytes = 1ull << 30;

// The served model is a file too, so the error names the option.
std::unique_ptr<model::Model> load_draft(const std::string& path) {
  try {
    return model::load_model(path);
  } catch (const Error& error) {
    throw Error("draft", fmt::format("--draft: {}", without_tag(error.what())));
  }
}

}  // namespace

bool names_draft_model(const std::string& draft) { return !draft.empty() && draft != "lookup"; }

void require_same_tokens(const model::Tokenizer& draft, const model::Tokenizer& served,
                         const std::string& path) {
  const auto fail = [&](const std::string& what) {
    throw Error("draft", fmt::format("--draft {}: {}; a draft model needs the tokenizer of the "
                                     "model that it serves",
                                     path, what));
  };
  if (draft.vocab_size() > served.vocab_size()) {
    fail(fmt::format("it has {} tokens, the model {}", draft.vocab_size(), served.vocab_size()));
  }
  for (model::TokenId id = 0; id < draft.vocab_size(); ++id) {
    if (draft.token_bytes(id) == served.token_bytes(id)) continue;
    fail(fmt::format("token {} is '{}', in the model '{}'", id, draft.token_bytes(id),
                     served.token_bytes(id)));
  }
}

DraftChoice::DraftChoice(const RuntimeOptions& options)
    : options_(options), model_(load_draft(options.draft)) {
  const model::ModelConfig& config = model_->config();
  spdlog::info("draft model {}: {} {} layers, {:.1f} M parameters, at most {} guesses a step",
               config.name, config.architecture, config.num_layers,
               static_cast<double>(config.parameters) / 1e6, options.draft_tokens);
}

device::AttentionGeometry DraftChoice::geometry() const {
  const model::ModelConfig& config = model_->config();
  device::AttentionGeometry geometry;
  geometry.num_layers = config.num_layers;
  geometry.q_heads = config.q_heads;
  geometry.kv_heads = config.kv_heads;
  geometry.head_dim = config.head_dim;
  geometry.page_tokens = kDraftPageTokens;
  geometry.kv_dtype = DType::kF16;
  return geometry;
}

std::uint64_t DraftChoice::kv_bytes() const {
  const int most = model_->config().context_length;
  const int context = options_.context_length > 0 ? std::min(options_.context_length, most) : most;
  const auto pages =
      static_cast<std::uint64_t>((context + kDraftPageTokens - 1) / kDraftPageTokens) *
      static_cast<std::uint64_t>(options_.max_running);
  const std::uint64_t served = options_.kv_bytes > 0 ? options_.kv_bytes : kUsualKvBytes;
  return std::min(pages * kv_page_bytes(geometry()), served / kShareOfKv);
}

// Units pack weights in their own order, which takes at most a 16th more.
std::uint64_t DraftChoice::bytes() const {
  const auto weights = static_cast<std::uint64_t>(model_->config().weight_bytes);
  return weights + weights / 16 + kv_bytes();
}

std::unique_ptr<engine::Drafter> DraftChoice::make(device::Device& device) const {
  device::AttentionUnitOptions unit;
  unit.geometry = geometry();
  unit.kv_bytes = kv_bytes();
  unit.max_batch_rows = options_.max_step_tokens;
  engine::DraftModelParts parts;
  parts.unit = device.make_attention_unit(unit);
  parts.max_rows = options_.max_step_tokens;
  parts.vocab_size = model_->config().vocab_size;
  parts.on_failure = [](const std::string& reason) {
    spdlog::warn("the draft model has failed, and the model serves without guesses: {}", reason);
  };
  parts.make_runner = [this, &device] {
    engine::ExecutorOptions executor;
    executor.device_timeout = std::chrono::milliseconds(options_.device_timeout_ms);
    executor.weights.num_threads = options_.threads;
    return engine::ExecutorSource(*model_, device.make_compute_unit(), executor)
        .make({options_.max_step_tokens, kDraftPageTokens, DType::kF16});
  };
  return std::make_unique<engine::DraftModel>(std::move(parts));
}

}  // namespace tandem::apps
