// SPDX-License-Identifier: Apache-2.0
//
// Decode through the whole engine: tokens per second against the read bandwidth of the same cores
// in the same run, and the engine's own cost per step.
//
// The model has random Q8_0 weights in the shape of a 1B-parameter Llama, far more than any cache,
// written to a temporary file. Verified first: tokens do not depend on how the prompt is cut, nor
// on batch mates. Every sample reads memory once with the probe, then decodes 8 tokens per
// sequence; the fraction is the median of weight bytes x steps per second / read bandwidth. The
// engine's cost is the step's wall time less what the compute and attention units say they were
// busy.
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cpu/backend.h"
#include "cpu/read_bandwidth.h"
#include "drivers/cpu/samples.h"
#include "engine/engine.h"
#include "model/model.h"
#include "support/gguf_writer.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<model::TokenId>;

constexpr std::size_t kPromptTokens = 24;

struct Setup {
  std::string name;
  test::RandomLlama shape;
  DType dtype;
  int batch;
  int steps_per_sample;
};

struct Run {
  std::vector<Tokens> tokens;  // per sequence
  double seconds_per_step = 0;
  double overhead_us_per_step = 0;
};

class Bench {
 public:
  Bench(const model::Model& model, int max_step_tokens)
      : model_(model), device_(device::cpu_backend().open(0, {})) {
    compute_ = device_->make_compute_unit();
    const model::ModelConfig& config = model.config();
    device::AttentionUnitOptions options;
    options.geometry = {config.num_layers, config.q_heads, config.kv_heads, config.head_dim, 16,
                        DType::kF16};
    options.max_pages = 256;
    std::vector<engine::NamedUnit> units;
    units.push_back({"cpu", device_->make_attention_unit(options)});
    engine::EngineOptions engine_options;
    engine_options.max_step_tokens = max_step_tokens;
    engine_ = std::make_unique<engine::Engine>(model, *compute_, std::move(units), engine_options,
                                               engine::Fallbacks{}, nullptr);
  }

  // Timed while all sequences decode together: from the last beginning to the first end.
  Run run(int batch, int num_steps) {
    Run result;
    result.tokens.resize(static_cast<std::size_t>(batch));
    std::vector<std::promise<void>> done(result.tokens.size());
    std::vector<Mark> marks;  // of the steps with all sequences; written by the engine's thread
    std::size_t num_begun = 0, num_ended = 0;
    for (std::size_t i = 0; i < result.tokens.size(); ++i) {
      const auto sink = [&, i](engine::RequestEvent event) {
        num_begun += result.tokens[i].empty() ? 1 : 0;
        for (const auto& token : event.tokens) result.tokens[i].push_back(token.id);
        if (num_begun == result.tokens.size() && num_ended == 0 && i == 0) {
          marks.push_back({Clock::now(), busy()});
        }
        num_ended += event.finish ? 1 : 0;
        if (event.finish) done[i].set_value();
      };
      engine_->submit(request(i, num_steps + 8), sink);
    }
    for (auto& promise : done) promise.get_future().wait();
    if (marks.size() < 3) return result;
    const auto steps = static_cast<double>(marks.size() - 1);
    const auto wall = std::chrono::duration<double>(marks.back().at - marks.front().at).count();
    result.seconds_per_step = wall / steps;
    result.overhead_us_per_step = (wall - (marks.back().busy - marks.front().busy)) / steps * 1e6;
    return result;
  }

 private:
  struct Mark {
    Clock::time_point at;
    double busy;
  };
  double busy() const {
    const engine::EngineStatus status = engine_->status();
    return status.compute.busy_seconds + status.units[0].stats.busy_seconds;
  }
  engine::Request request(std::size_t index, int max_tokens) const {
    engine::Request request;
    for (std::size_t i = 0; i < kPromptTokens; ++i) {
      request.prompt.push_back(static_cast<model::TokenId>(3 + (i * 7 + index * 13) % 300));
    }
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    return request;
  }

  const model::Model& model_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::unique_ptr<engine::Engine> engine_;
};

bool verify(const model::Model& model, Bench& bench, int batch) {
  const Tokens first = bench.run(1, 8).tokens.front();
  if (bench.run(batch, 8).tokens.front() != first) {
    std::cerr << "wrong result: tokens depend on batch mates\n";
    return false;
  }
  Bench chunked(model, 7);
  if (chunked.run(1, 8).tokens.front() != first) {
    std::cerr << "wrong result: tokens depend on how the prompt is cut\n";
    return false;
  }
  return true;
}

bool measure(const Setup& setup, const std::string& command) {
  const auto model = test::load_random_llama(setup.shape, setup.dtype, 1);
  const model::ModelConfig& config = model->config();
  Bench bench(*model, 256);
  if (!verify(*model, bench, setup.batch)) return false;
  device::cpu::Team team(0);
  device::cpu::ReadProbe probe(team, std::size_t{256} << 20);
  const auto weight_bytes = static_cast<double>(config.weight_bytes);
  std::vector<double> rates, fractions, overheads, reads;
  for (int sample = -2; sample < kSamples; ++sample) {
    const double read = probe.measure();
    const Run run = bench.run(setup.batch, setup.steps_per_sample);
    if (sample < 0 || run.seconds_per_step == 0) continue;
    rates.push_back(setup.batch / run.seconds_per_step);
    reads.push_back(read * 1e-9);
    fractions.push_back(weight_bytes / run.seconds_per_step / read);
    overheads.push_back(run.overhead_us_per_step);
  }
  nlohmann::ordered_json extra = {{"batch", setup.batch},
                                  {"parameters", config.parameters},
                                  {"weight_bytes", config.weight_bytes},
                                  {"roofline_fraction", quantile(fractions, 0.5)},
                                  {"read_gb_per_s", quantile(reads, 0.5)},
                                  {"engine_us_per_step", quantile(overheads, 0.5)},
                                  {"threads", team.size()},
                                  {"command", command}};
  // The roofline does not apply if the weights stay in a cache.
  if (weight_bytes < 256e6) extra.erase("roofline_fraction");
  print_figure("engine_decode/" + setup.name, rates, "tokens/s", extra);
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  using tandem::DType;
  const bool quick = argc > 1 && std::strcmp(argv[1], "--small") == 0;
  std::string command = argv[0];
  if (quick) command += " --small";
  tandem::test::RandomLlama one_b = tandem::test::shape_of_1b();
  one_b.vocab_size = 32000;
  one_b.context_length = 512;
  std::vector<tandem::bench::Setup> setups = {{"tiny_f32_batch1", {}, DType::kF32, 1, 64},
                                              {"tiny_f32_batch16", {}, DType::kF32, 16, 64}};
  if (!quick) {
    setups.push_back({"1b_q8_0_batch1", one_b, DType::kQ8_0, 1, 8});
    setups.push_back({"1b_q8_0_batch8", one_b, DType::kQ8_0, 8, 8});
  }
  bool good = true;
  for (const auto& setup : setups) good = tandem::bench::measure(setup, command) && good;
  return good ? 0 : 1;
}
