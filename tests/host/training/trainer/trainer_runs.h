// SPDX-License-Identifier: Apache-2.0
//
// TrainerTest: runs of a Trainer on a small text and a model that is computed by hand.
//
// Threads: run_world() has one per rank; each has its own model.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/group.h"
#include "host/training/trainer/bigram.h"
#include "host/training/trainer/text_trainer.h"
#include "support/ranks.h"
#include "support/scratch_path.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/decoder_model.h"

namespace tandem::training {

// A log that keeps what it hears.
class KeptLog final : public TrainingLog {
 public:
  void step(const StepFigures& figures) override {
    losses[figures.step] = figures.loss;
    last = figures;
  }
  void evaluation(const EvaluationFigures& figures) override { evaluated = figures; }

  std::map<std::uint64_t, double> losses;
  StepFigures last;
  EvaluationFigures evaluated;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    std::filesystem::create_directories(folder_.path());
    std::ofstream(path("model.toml")) << test::kSmallDecoder;
    std::ofstream text(path("text.txt"));
    for (int line = 0; line < 60; ++line) text << "the cat " << line * line << " sat on a mat.\n";
    text.close();
    model_ = make_decoder(path("model.toml"), "");
    vocab_ = model_.config.vocab_size;
    text_.emplace(path("text.txt"), *model_.tokenizer);
    options_.steps = 12;
    options_.batch = 2;
    options_.schedule = {0.1, 2, 12, RateDecay::kCosine, 0.1};
    options_.reduce.dense_below = 64;
  }

  std::string path(const std::string& name) const { return folder_.string() + "/" + name; }

  static auto only(TrainingLog& log) {
    return [&log](std::uint64_t) { return std::vector<TrainingLog*>{&log}; };
  }

  // One rank's run; the values of the parameters at its end.
  std::vector<float> run(const TrainerOptions& options, KeptLog& log,
                         collectives::Group* group = nullptr, const std::string& from = {}) {
    ParameterSet parameters(test::bigram_parameters(vocab_));
    parameters.draw(5);
    test::Bigram bigram(parameters, vocab_);
    test::TextTrainer trainer(options, {model_, parameters, bigram, *text_, nullptr, only(log)});
    if (!from.empty()) trainer.resume(find_checkpoint(from));
    trainer.run(group);
    const auto values = parameters.values(0);
    return {values.begin(), values.end()};
  }

  // Ranks as threads; rank 0's values.
  std::vector<float> run_world(int world, const TrainerOptions& options, KeptLog& log,
                               const std::string& from = {}) {
    std::vector<float> result;
    test::run_ranks(world, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      KeptLog other;
      const bool first = group.rank() == 0;
      const auto values = run(options, first ? log : other, &group, from);
      if (first) result = values;
    });
    return result;
  }

  test::ScratchPath folder_{"trainer"};
  DecoderModel model_;
  std::optional<TokenText> text_;
  int vocab_ = 0;
  TrainerOptions options_;
};

}  // namespace tandem::training
