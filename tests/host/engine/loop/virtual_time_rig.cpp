// SPDX-License-Identifier: Apache-2.0
//
// Requests in virtual time, and the check of their tokens.
#include "host/engine/loop/virtual_time_rig.h"

#include <random>

namespace tandem::engine {
namespace {

model::ModelConfig virtual_config() {
  model::ModelConfig config;
  config.num_layers = 1;
  config.q_heads = config.kv_heads = 1;
  config.head_dim = 2;
  config.vocab_size = kVirtualVocab;
  config.context_length = 4096;
  return config;
}

}  // namespace

VirtualTime::VirtualTime() : model_(virtual_config()) {
  runner_.vocab_size = kVirtualVocab;
  runner_.cost = &cost_;
  runner_.device_timeout = std::chrono::seconds(10);
}

NamedUnit VirtualTime::unit(const std::string& id, const VirtualUnitOptions& options) {
  return {id, std::make_unique<VirtualUnit>(kVirtualGeometry, clock_, options)};
}

std::vector<NamedUnit> VirtualTime::two_units(const VirtualUnitOptions& first,
                                              const VirtualUnitOptions& second) {
  std::vector<NamedUnit> units;
  units.push_back(unit("first", first));
  units.push_back(unit("second", second));
  return units;
}

void VirtualTime::start(std::vector<NamedUnit> units, LoopFallbacks fallbacks) {
  options_.clock = &clock_;
  options_.step_cost = &cost_;
  VirtualSource source("first compute", clock_, runner_);
  loop_ = std::make_unique<EngineLoop>(model_, source, std::move(units), options_,
                                       std::move(fallbacks));
}

Request VirtualTime::request(std::size_t shared, std::size_t own, int max_tokens,
                             std::uint32_t seed, const std::string& caller) const {
  Request result;
  for (std::size_t i = 0; i < shared; ++i) result.prompt.push_back(static_cast<TokenId>(i % 7));
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < own; ++i) {
    result.prompt.push_back(static_cast<TokenId>(random() % kVirtualVocab));
  }
  result.sampling.temperature = 0;
  result.max_tokens = max_tokens;
  result.caller = caller;
  return result;
}

RequestId VirtualTime::submit(const Request& request) {
  const RequestId id = ++last_id_;
  served_[id].request = request;
  const auto sink = [this, id](RequestEvent event) {
    for (const TokenOutput& token : event.tokens) served_[id].tokens.push_back(token.id);
    served_[id].last = std::move(event);
  };
  loop_->add(std::make_unique<Sequence>(id, request, sink, model_, loop_->max_request_tokens(),
                                        *request_clock_));
  return id;
}

void VirtualTime::step() {
  loop_->step();
  for (Delivery& delivery : loop_->take_deliveries()) delivery.sink(std::move(delivery.event));
}

void VirtualTime::serve(const std::vector<Request>& requests, Clock::Duration gap) {
  std::size_t arrived = 0;
  while (arrived < requests.size() || !loop_->idle()) {
    const auto next_at = Clock::TimePoint(gap * static_cast<int>(arrived));
    if (arrived < requests.size() && clock_.now() >= next_at) {
      submit(requests[arrived++]);
    } else if (loop_->idle()) {
      clock_.advance_to(next_at);
    } else {
      step();
    }
  }
}

void VirtualTime::expect_served(RequestId id) const {
  const Served& served = served_.at(id);
  ASSERT_EQ(served.last.finish, FinishReason::kLength) << id << ": " << served.last.error;
  ASSERT_EQ(served.tokens.size(), static_cast<std::size_t>(served.request.max_tokens)) << id;
  std::vector<TokenId> known = served.request.prompt;
  for (const TokenId token : served.tokens) {
    ASSERT_EQ(token, next_token(known, kVirtualVocab)) << id << " behind " << known.size();
    known.push_back(token);
  }
}

void VirtualTime::expect_all_served() const {
  for (const auto& [id, served] : served_) ASSERT_NO_FATAL_FAILURE(expect_served(id));
}

std::uint32_t VirtualTime::pages_used() const {
  std::uint32_t used = 0;
  for (const UnitStatus& unit : loop_->status().units) used += unit.pages_used;
  return used;
}

}  // namespace tandem::engine
