// SPDX-License-Identifier: Apache-2.0
//
// CostRig: serves requests with the real loop on a machine in virtual time whose costs are known.
//
// The first unit is the compute device's own memory. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "engine/loop/engine_loop.h"
#include "engine/planning/estimate_costs.h"
#include "host/engine/loop/virtual_machine.h"
#include "support/model_double.h"

namespace tandem::engine {

constexpr int kCostVocab = 50;
constexpr device::AttentionGeometry kCostGeometry{16, 1, 1, 2, 16, DType::kF16};

// What an operator might fix.
struct FixedMode {
  std::vector<double> shares;  // empty: the costs decide
  int num_sub_batches = 0;
};

struct CostRequest {
  int prompt = 16, output = 8;
  int priority = 0;
};

class CostRig {
 public:
  explicit CostRig(planner::MachineModel machine) : machine_(std::move(machine)), model_(config()) {
    const RowBytes bytes = row_bytes(kCostGeometry);
    planner::MachineModel exact = machine_.now();
    exact.num_layers = kCostGeometry.num_layers;
    exact.bytes_to_unit = bytes.to_unit, exact.bytes_from_unit = bytes.from_unit;
    machine_ = VirtualMachine(exact);
    options_.clock = &clock_;
    options_.max_step_tokens = 256;
    options_.prefix_cache = false;
  }

  EngineOptions& options() { return options_; }
  VirtualMachine& machine() { return machine_; }
  EngineLoop& loop() { return *loop_; }
  double now_s() const {
    return std::chrono::duration<double>(clock_.now().time_since_epoch()).count();
  }

  void start(const FixedMode& mode = {}, std::uint32_t num_pages = 1u << 16) {
    std::vector<NamedUnit> units;
    std::vector<std::string> ids;
    for (std::size_t u = 0; u < machine_.now().units.size(); ++u) {
      units.push_back(make_unit(u, num_pages));
      if (!mode.shares.empty()) units.back().share = std::max(1e-9, mode.shares[u]);
      ids.push_back(units.back().id);
    }
    const planner::CostTable table = table_of(machine_.now(), "compute", ids);
    options_.costs = [table](StepRunner&, std::span<const NamedUnit>) { return table; };
    options_.follows_costs = mode.shares.empty();
    options_.num_sub_batches = mode.num_sub_batches;
    VirtualRunnerOptions runner;
    runner.vocab_size = kCostVocab;
    runner.ways = ways;
    runner.way = &way_;
    runner.machine = [this](std::span<const RunnerItem> items) {
      return machine_.step(items, way_);
    };
    LoopFallbacks fallbacks;
    fallbacks.compute = [this, runner] {
      return std::make_unique<VirtualSource>("fallback", clock_, runner);
    };
    runner.dies_at = compute_dies_at;
    VirtualSource source("compute", clock_, runner);
    loop_ = std::make_unique<EngineLoop>(model_, source, std::move(units), options_,
                                         std::move(fallbacks));
    loop_->on_token = [this](Sequence& sequence) {
      if (const auto gap = sequence.take_token_gap()) gaps.push_back(*gap);
    };
  }

  // It answers nothing any more.
  void kill(std::size_t unit) { made_.at(unit)->die(); }
  // A card of that place and name, without pages in it.
  void bring_back(std::size_t unit, std::uint32_t num_pages = 1u << 16) {
    loop_->return_unit(make_unit(unit, num_pages));
  }

  RequestId submit(const CostRequest& wanted) {
    const RequestId id = ++last_id_;
    Request request;
    std::mt19937 random(static_cast<std::uint32_t>(id));
    for (int i = 0; i < wanted.prompt; ++i) {
      request.prompt.push_back(static_cast<TokenId>(random() % kCostVocab));
    }
    request.sampling.temperature = 0;
    request.max_tokens = wanted.output;
    request.priority = wanted.priority;
    request.ignore_eos = true;
    prompts_[id] = request.prompt;
    const auto sink = [this, id](RequestEvent event) {
      for (const TokenOutput& token : event.tokens) tokens[id].push_back(token.id);
      if (event.finish) ended.push_back(id);
    };
    loop_->add(std::make_unique<Sequence>(id, std::move(request), sink, model_,
                                          loop_->max_request_tokens(), clock_));
    return id;
  }

  void step() {
    loop_->step();
    for (Delivery& delivery : loop_->take_deliveries()) delivery.sink(std::move(delivery.event));
  }

  // All at once; returns the virtual seconds until the last has ended.
  double serve(const std::vector<CostRequest>& requests) {
    const double begin = now_s();
    for (const CostRequest& request : requests) submit(request);
    while (!loop_->idle()) step();
    return now_s() - begin;
  }

  // Every request has the tokens that its prompt leads to.
  void expect_tokens() const {
    for (const auto& [id, given] : tokens) {
      std::vector<TokenId> known = prompts_.at(id);
      for (const TokenId token : given) {
        ASSERT_EQ(token, next_token(known, kCostVocab)) << id << " behind " << known.size();
        known.push_back(token);
      }
    }
  }

  StepWays ways;                              // set before start()
  Clock::TimePoint compute_dies_at = kNever;  // set before start(); a fallback goes on
  std::map<RequestId, std::vector<TokenId>> tokens;
  std::vector<RequestId> ended;  // in this order
  std::vector<double> gaps;      // between tokens of streams

 private:
  static model::ModelConfig config() {
    model::ModelConfig config;
    config.num_layers = kCostGeometry.num_layers;
    config.q_heads = config.kv_heads = 1;
    config.head_dim = kCostGeometry.head_dim;
    config.vocab_size = kCostVocab;
    config.context_length = 1 << 14;
    return config;
  }

  NamedUnit make_unit(std::size_t index, std::uint32_t num_pages) {
    VirtualUnitOptions options;
    options.num_pages = num_pages;
    options.link_bandwidth = index == 0 ? 0 : 1e12;
    options.page_time = std::chrono::microseconds(10);
    auto unit = std::make_unique<VirtualUnit>(kCostGeometry, clock_, options);
    made_[index] = unit.get();
    return {"unit " + std::to_string(index), std::move(unit), 0};
  }

  VirtualMachine machine_;
  VirtualClock clock_;
  std::map<std::size_t, VirtualUnit*> made_;  // by place, the newest; the loop owns them
  StepWay way_;                               // of the running step
  const test::ModelDouble model_;
  EngineOptions options_;
  std::unique_ptr<EngineLoop> loop_;
  RequestId last_id_ = 0;
  std::map<RequestId, std::vector<TokenId>> prompts_;
};

}  // namespace tandem::engine
