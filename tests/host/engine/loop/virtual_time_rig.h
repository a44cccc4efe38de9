// SPDX-License-Identifier: Apache-2.0
//
// VirtualTime: a fixture that serves requests with the real loop, scheduler and KV cache, on
// devices in virtual time. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/loop/engine_loop.h"
#include "host/engine/loop/virtual_devices.h"
#include "support/model_double.h"

namespace tandem::engine {

constexpr int kVirtualVocab = 50;
constexpr int kEndless = 3000;  // tokens, more than a test waits for
constexpr device::AttentionGeometry kVirtualGeometry{1, 1, 1, 2, 16, DType::kF16};

struct Served {
  Request request;
  std::vector<TokenId> tokens;
  RequestEvent last;
};

class VirtualTime : public ::testing::Test {
 protected:
  VirtualTime();

  NamedUnit unit(const std::string& id, const VirtualUnitOptions& options);
  std::vector<NamedUnit> two_units(const VirtualUnitOptions& first,
                                   const VirtualUnitOptions& second);
  void start(std::vector<NamedUnit> units, LoopFallbacks fallbacks = {});

  // A greedy one. Its prompt: `shared` tokens that all have, then `own` by the seed.
  Request request(std::size_t shared, std::size_t own, int max_tokens, std::uint32_t seed,
                  const std::string& caller = {}) const;
  RequestId submit(const Request& request);
  void step();
  // Requests arrive `gap` apart; steps follow each other, and an idle loop waits for the next.
  void serve(const std::vector<Request>& requests, Clock::Duration gap);

  // Every request has the tokens that its prompt leads to.
  void expect_served(RequestId id) const;
  void expect_all_served() const;
  std::uint32_t pages_used() const;

  VirtualClock clock_;
  const Clock* request_clock_ = &clock_;
  const test::ModelDouble model_;
  const planner::ConstantStepCost cost_{{.per_step = 0.5, .per_row = 0.01}};
  VirtualRunnerOptions runner_;
  EngineOptions options_{.max_step_tokens = 64};
  std::unique_ptr<EngineLoop> loop_;
  RequestId last_id_ = 0;
  std::map<RequestId, Served> served_;
};

}  // namespace tandem::engine
