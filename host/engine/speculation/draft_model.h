// SPDX-License-Identifier: Apache-2.0
//
// DraftModel: a Drafter that runs a smaller model with the same vocabulary, greedily.
//
// It has its own step runner, KV cache and attention unit. A call first computes the known tokens
// that are new to it, at most the rows of one step, so that streams do not wait for a long prompt.
// Then it computes one token per step for each sequence that has caught up. Where its cache differs
// from the known tokens, it is overwritten from there. A sequence gets no guesses if it finds no
// page, or has a token outside the draft model's vocabulary. Threads: the engine's. Errors: after
// its device has failed, it guesses nothing; on_failure gets the reason once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "device/attention_unit.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/speculation/drafter.h"
#include "engine/steps/step_runner.h"

namespace tandem::engine {

struct DraftModelParts {
  std::unique_ptr<device::AttentionUnit> unit;
  std::function<std::unique_ptr<StepRunner>()> make_runner;
  int max_rows = 256;  // of a step of the runner
  int vocab_size = 0;
  std::function<void(const std::string&)> on_failure = {};
};

class DraftModel final : public Drafter {
 public:
  // Errors: those of make_runner and of add_unit.
  explicit DraftModel(DraftModelParts parts);

  std::string_view name() const override { return "draft model"; }
  void draft(std::span<DraftWish> wishes) override;
  void forget(std::uint64_t id) override;

 private:
  struct Cached {
    PageTable table;
    std::vector<TokenId> tokens;  // those whose KV is in the table's pages
  };
  // A wish in progress: the tokens of the next steps; the logits of the last one are needed.
  struct Pass {
    DraftWish* wish = nullptr;
    Cached* cached = nullptr;
    std::vector<TokenId> pending;
  };

  bool begin(DraftWish& wish, Pass& pass);
  // Computes known tokens of all passes, at most one step. Drops the passes that have not caught
  // up.
  void catch_up(std::vector<Pass>& passes);
  // Computes pending tokens of all passes, at most one step. Appends the token that follows.
  void step(std::vector<Pass>& passes);
  void take(Pass& pass, TokenId token);
  void fail(const std::string& reason);

  const std::unique_ptr<StepRunner> runner_;
  const std::unique_ptr<device::AttentionUnit> unit_;  // destroyed before the runner
  const int max_rows_, vocab_size_;
  const std::function<void(const std::string&)> on_failure_;
  KvCache kv_;
  bool failed_ = false;
  std::unordered_map<std::uint64_t, Cached> sequences_;
};

}  // namespace tandem::engine
