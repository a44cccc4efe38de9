// SPDX-License-Identifier: Apache-2.0
//
// EngineRig: the random model, the units and the listeners.
#include "host/engine/engine_rig.h"

#include <gtest/gtest.h>

#include <latch>
#include <random>

#include "cpu/backend.h"

namespace tandem::engine {
namespace {

std::unique_ptr<model::Model> random_model() {
  test::RandomLlama shape;
  shape.head_dim = 16;
  shape.ffn_width = 96;
  return test::load_random_llama(shape, DType::kF32, 7);
}

}  // namespace

EventSink Listener::sink() {
  return [shared = shared_, on_event = on_event](RequestEvent event) {
    Answer snapshot;
    {
      const std::lock_guard lock(shared->mutex);
      Answer& answer = shared->answer;
      EXPECT_FALSE(answer.last.finish) << "an event after the end";
      for (const TokenOutput& token : event.tokens) {
        answer.tokens.push_back(token.id);
        answer.logprobs.push_back(token.logprob);
      }
      if (!event.prompt_logprobs.empty()) {
        EXPECT_TRUE(answer.prompt_logprobs.empty()) << "prompt log-probabilities came twice";
        answer.prompt_logprobs = event.prompt_logprobs;
      }
      answer.text += event.text;
      ++answer.num_events;
      if (event.finish) answer.finish = *event.finish;
      answer.last = std::move(event);
      snapshot = answer;
    }
    if (on_event) on_event(snapshot);
    const std::lock_guard lock(shared->mutex);
    shared->ended = snapshot.last.finish.has_value();
    shared->changed.notify_all();
  };
}

Answer Listener::wait() {
  std::unique_lock lock(shared_->mutex);
  EXPECT_TRUE(shared_->changed.wait_for(lock, std::chrono::minutes(5), [&] {
    return shared_->ended;
  })) << "no end after five minutes";
  return shared_->answer;
}

EngineRig::EngineRig() : model_(random_model()) {
  device_ = device::cpu_backend().open(0, {.num_threads = 1});
  compute_ = device_->make_compute_unit();
}

EngineRig::EngineRig(const std::string& model_path) : model_(model::load_model(model_path)) {
  device_ = device::cpu_backend().open(0, {.num_threads = 1});
  compute_ = device_->make_compute_unit();
}

device::AttentionGeometry EngineRig::geometry(DType kv_dtype) const {
  const model::ModelConfig& config = model_->config();
  return {config.num_layers, config.q_heads, config.kv_heads, config.head_dim, 16, kv_dtype};
}

NamedUnit EngineRig::cpu_unit(std::uint32_t num_pages, DType kv_dtype) const {
  device::AttentionUnitOptions options;
  options.geometry = geometry(kv_dtype);
  options.kv_bytes = device::page_image_bytes(options.geometry) * (num_pages + 1) * 4;
  options.max_pages = num_pages;
  auto unit = device_->make_attention_unit(options);
  EXPECT_EQ(unit->capacity().num_pages, num_pages);
  return {"cpu", std::move(unit)};
}

NamedUnit EngineRig::naive_unit(const std::string& id,
                                const test::NaiveUnitOptions& options) const {
  return {id, std::make_unique<test::NaiveAttentionUnit>(geometry(), options)};
}

std::vector<NamedUnit> EngineRig::cpu_units(std::initializer_list<std::uint32_t> pages) const {
  std::vector<NamedUnit> units;
  for (const std::uint32_t num_pages : pages) units.push_back(cpu_unit(num_pages));
  return units;
}

std::unique_ptr<Engine> EngineRig::engine(std::vector<NamedUnit> units,
                                          const EngineOptions& options,
                                          std::function<NamedUnit()> make_fallback,
                                          trace::Metrics* metrics) {
  return std::make_unique<Engine>(*model_, *compute_, std::move(units), options,
                                  Fallbacks{std::move(make_fallback), {}}, metrics);
}

std::unique_ptr<Engine> EngineRig::engine_on(device::ComputeUnit& compute,
                                             std::vector<NamedUnit> units,
                                             const EngineOptions& options, Fallbacks fallbacks) {
  return std::make_unique<Engine>(*model_, compute, std::move(units), options, std::move(fallbacks),
                                  nullptr);
}

std::vector<model::TokenId> EngineRig::prompt(std::size_t length, std::uint32_t seed) const {
  std::mt19937 random(seed);
  std::uniform_int_distribution<model::TokenId> id(3, model_->config().vocab_size - 1);
  std::vector<model::TokenId> tokens(length);
  for (model::TokenId& token : tokens) token = id(random);
  return tokens;
}

Request greedy(std::vector<model::TokenId> prompt, int max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.top_logprobs = 0;
  return request;
}

std::vector<Answer> run_all(Engine& engine, const std::vector<Request>& requests) {
  std::latch all_submitted(1);
  Listener gate;
  bool is_held = false;
  if (requests.size() > 1) {
    gate.on_event = [&](const Answer&) { all_submitted.wait(); };
    const auto held = engine.submit(greedy({requests.front().prompt.front()}, 0), gate.sink());
    is_held = held.status == SubmitStatus::kAccepted;
    EXPECT_TRUE(is_held);
  }
  std::vector<Listener> listeners(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(engine.submit(requests[i], listeners[i].sink()).status, SubmitStatus::kAccepted);
  }
  all_submitted.count_down();
  if (is_held) gate.wait();
  std::vector<Answer> answers;
  for (Listener& listener : listeners) answers.push_back(listener.wait());
  EXPECT_EQ(pages_used(engine), 0u) << "pages leaked";
  return answers;
}

std::uint32_t pages_used(const Engine& engine) {
  std::uint32_t used = 0;
  for (const UnitStatus& unit : engine.status().units) used += unit.pages_used;
  return used;
}

}  // namespace tandem::engine
