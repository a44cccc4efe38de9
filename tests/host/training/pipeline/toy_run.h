// SPDX-License-Identifier: Apache-2.0
//
// ToyRuns: runs of a PipelineTrainer over toy layers (toy_layers.h), on threads as ranks.
//
// A run tells its losses, norms, weights of all ranks, backward passes, and what it told. Replicas
// must end with the same weights. Threads: those of run_ranks().
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/training/pipeline/toy_layers.h"
#include "support/ranks.h"
#include "training/pipeline/pipeline_trainer.h"

namespace tandem::test {

constexpr int kToyBlocks = 5, kToyRows = 2, kToyColumns = 3;

// Tokens of a sample follow from its number.
class ToySamples {
 public:
  training::TokenBatch at(std::uint64_t first) {
    for (std::size_t place = 0; place < tokens_.size(); ++place) {
      const std::uint64_t sample = first + place / kToyColumns;
      const auto token = static_cast<std::int32_t>(
          (sample * 31 + place % kToyColumns * 5 + sample * sample % 11) % kToyVocabulary);
      tokens_[place] = token;
      targets_[place] = (token * 3 + 1) % kToyVocabulary;
    }
    return {tokens_.data(), targets_.data(), kToyRows, kToyColumns};
  }

 private:
  std::vector<std::int32_t> tokens_ = std::vector<std::int32_t>(kToyRows * kToyColumns),
                            targets_ = tokens_;
};

struct Figures final : training::TrainingLog {
  void step(const training::StepFigures& figures) override {
    losses[figures.step] = figures.loss;
    norms[figures.step] = figures.gradient_norm;
    bytes_sent[figures.step] = figures.bytes_sent;
  }
  std::map<std::uint64_t, double> losses, norms;
  std::map<std::uint64_t, std::uint64_t> bytes_sent;
};

struct RunResult {
  std::map<std::uint64_t, double> losses, norms;
  std::map<std::uint64_t, std::uint64_t> bytes_sent;  // by rank 0
  std::map<std::string, std::vector<float>> weights;  // of all ranks
  std::map<std::string, int> passes;                  // backward, by first parameter
  std::vector<nlohmann::ordered_json> told, windows;
  planner::Cuts cuts;
};

struct RunOptions {
  int ranks = 1;
  bool tied = false;
  training::PipelineOptions pipeline;
  std::uint64_t steps = 6;
  std::string out, resume;
  int accumulate = 4;
  training::ReduceOptions reduce = {};
  training::Pruning pruning = {};
  training::MakeLayer make = make_toy;
};

class ToyRuns : public testing::Test {
 public:
  static training::TrainerOptions trainer_options(const RunOptions& options) {
    training::TrainerOptions trainer;
    trainer.out = options.out;
    trainer.steps = options.steps;
    trainer.batch = kToyRows;
    trainer.accumulate = options.accumulate;
    trainer.reduce = options.reduce;
    trainer.schedule = {0.05, 0, 6, training::RateDecay::kConstant, 1};
    trainer.clip = 0.2;
    trainer.pruning = options.pruning;
    trainer.save_every = 3;
    return trainer;
  }

  static training::PipelineParts parts_of(const RunOptions& options, ToySamples& samples,
                                          Figures& figures, RunResult& run) {
    training::PipelineParts parts;
    parts.parameters = toy_parameters(kToyBlocks, options.tied);
    parts.num_blocks = kToyBlocks;
    parts.width = kToyWidth;
    parts.losses_of_sample = kToyColumns;
    parts.make = options.make;
    parts.fill = [specs = parts.parameters](const auto& wanted) {
      training::ParameterSet whole(specs);
      whole.draw(11);
      for (const auto& [number, values] : wanted) {
        std::ranges::copy(whole.values(number), values.begin());
      }
    };
    parts.batch = [&samples](std::uint64_t first) { return samples.at(first); };
    parts.open_logs = [&figures](std::uint64_t) {
      return std::vector<training::TrainingLog*>{&figures};
    };
    parts.tell = [&run](const nlohmann::ordered_json& line) {
      (line.contains("profiled_steps") ? run.windows : run.told).push_back(line);
    };
    return parts;
  }

  static void keep(training::PipelineTrainer& trainer, RunResult& run) {
    for (const auto& [number, layer] : trainer.layers()) {
      training::ParameterSet& parameters = layer->parameters();
      for (std::size_t at = 0; at < layer->spec().numbers.size(); ++at) {
        const auto values = parameters.values(at);
        const std::vector<float> own(values.begin(), values.end());
        const auto [kept, is_new] = run.weights.emplace(parameters.spec(at).name, own);
        EXPECT_TRUE(is_new || kept->second == own) << "replicas differ in " << kept->first;
      }
      run.passes[parameters.spec(0).name] =
          dynamic_cast<ToyLayer&>(layer->passes()).backward_passes;
    }
    run.cuts = trainer.plan().cuts;
  }

  static RunResult run(const RunOptions& options) {
    RunResult run;
    std::mutex mutex;
    const auto rank = [&](collectives::Group* group) {
      ToySamples samples;
      Figures figures;
      training::PipelineTrainer trainer(trainer_options(options), options.pipeline,
                                        parts_of(options, samples, figures, run));
      if (!options.resume.empty()) trainer.resume(training::find_checkpoint(options.resume));
      trainer.run(group);
      const std::lock_guard lock(mutex);
      keep(trainer, run);
      if (group != nullptr && group->rank() > 0) return;
      run.losses = figures.losses;
      run.norms = figures.norms;
      run.bytes_sent = figures.bytes_sent;
    };
    if (options.ranks == 1) {
      rank(nullptr);
      return run;
    }
    run_ranks(options.ranks, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      rank(&group);
    });
    return run;
  }

  static void expect_same(const RunResult& expected, const RunResult& found) {
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(found.norms, expected.norms);
    EXPECT_EQ(found.weights, expected.weights);
  }
};

}  // namespace tandem::test
