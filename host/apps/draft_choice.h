// SPDX-License-Identifier: Apache-2.0
//
// DraftChoice: the model of --draft FILE, and the drafter that runs it on the device that computes.
//
// Errors: Error("draft", ...) for a model whose tokens are not those of the model that it serves,
// and those of loading. Ownership: borrows the device and the served model. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "apps/runtime_options.h"
#include "device/device.h"
#include "engine/speculation/drafter.h"
#include "model/model.h"

namespace tandem::apps {

// Whether --draft names a file, and not a method without a model.
bool names_draft_model(const std::string& draft);

// Error unless every token of the draft model has the same bytes in the served model.
void require_same_tokens(const model::Tokenizer& draft, const model::Tokenizer& served,
                         const std::string& path);

class DraftChoice {
 public:
  explicit DraftChoice(const RuntimeOptions& options);

  const model::Model& model() const { return *model_; }
  // Memory of the device that computes, for weights and KV.
  std::uint64_t bytes() const;
  std::unique_ptr<engine::Drafter> make(device::Device& device) const;

 private:
  device::AttentionGeometry geometry() const;
  // An eighth of --kv-memory, or 128 MiB, or what --max-running sequences need if that is less.
  std::uint64_t kv_bytes() const;

  const RuntimeOptions& options_;
  std::unique_ptr<model::Model> model_;
};

}  // namespace tandem::apps
