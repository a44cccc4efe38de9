// SPDX-License-Identifier: Apache-2.0
//
// DraftChoice: loads the model of --draft FILE, and makes the drafter that runs it on the compute
// device.
//
// Errors: Error("draft", ...) if its tokens differ from those of the served model, and errors of
// loading. Ownership: borrows the device and the served model. Threads: one.
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

// Whether --draft names a file. Otherwise it names a method without a model.
bool names_draft_model(const std::string& draft);

// Throws Error unless every token of the draft model has the same bytes in the served model.
void require_same_tokens(const model::Tokenizer& draft, const model::Tokenizer& served,
                         const std::string& path);

class DraftChoice {
 public:
  explicit DraftChoice(const RuntimeOptions& options);

  const model::Model& model() const { return *model_; }
  // The memory of the compute device that the draft model needs, for weights and KV.
  std::uint64_t bytes() const;
  std::unique_ptr<engine::Drafter> make(device::Device& device) const;

 private:
  device::AttentionGeometry geometry() const;
  // An eighth of --kv-memory, or 128 MiB, or less if --max-running sequences need less.
  std::uint64_t kv_bytes() const;

  const RuntimeOptions& options_;
  std::unique_ptr<model::Model> model_;
};

}  // namespace tandem::apps
