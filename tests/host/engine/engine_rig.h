// SPDX-License-Identifier: Apache-2.0
//
// EngineRig: a model on the CPU compute unit, attention units of several kinds, and the whole
// answer of a request as one value.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "engine/engine.h"
#include "model/model.h"
#include "support/gguf_writer.h"
#include "support/naive_attention_unit.h"

namespace tandem::engine {

struct Answer {
  std::vector<model::TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<float> prompt_logprobs;
  std::string text;
  FinishReason finish = FinishReason::kError;
  RequestEvent last;
  int num_events = 0;
};

// Gathers the events of one request.
class Listener {
 public:
  EventSink sink();
  Answer wait();  // for the end; fails the test after five minutes
  // Called on the engine's thread after each event.
  std::function<void(const Answer&)> on_event;

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    Answer answer;
    bool ended = false;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

class EngineRig {
 public:
  // A random model of a few thousand parameters, the same for every rig.
  EngineRig();
  explicit EngineRig(const std::string& model_path);

  const model::Model& model() const { return *model_; }
  device::ComputeUnit& compute() { return *compute_; }
  device::AttentionGeometry geometry(DType kv_dtype = DType::kF16) const;

  NamedUnit cpu_unit(std::uint32_t num_pages, DType kv_dtype = DType::kF16) const;
  NamedUnit naive_unit(const std::string& id, const test::NaiveUnitOptions& options) const;
  std::vector<NamedUnit> cpu_units(std::initializer_list<std::uint32_t> pages) const;

  std::unique_ptr<Engine> engine(std::vector<NamedUnit> units, const EngineOptions& options,
                                 std::function<NamedUnit()> make_fallback = {},
                                 trace::Metrics* metrics = nullptr);
  // The same on another compute unit.
  std::unique_ptr<Engine> engine_on(device::ComputeUnit& compute, std::vector<NamedUnit> units,
                                    const EngineOptions& options, Fallbacks fallbacks = {});

  // A prompt of `length` tokens; the same for the same seed.
  std::vector<model::TokenId> prompt(std::size_t length, std::uint32_t seed) const;

 private:
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> compute_;
};

Request greedy(std::vector<model::TokenId> prompt, int max_tokens);

// Submits all requests, waits for all, and checks that no page is in use afterwards. The sink of
// one more request, without output, holds the engine until all are submitted: which of them share a
// step then does not depend on timing.
std::vector<Answer> run_all(Engine& engine, const std::vector<Request>& requests);

// Pages in use on all units.
std::uint32_t pages_used(const Engine& engine);

}  // namespace tandem::engine
