// SPDX-License-Identifier: Apache-2.0
//
// Runs with the optimiser divided over ranks against runs in which every rank updates all.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "host/training/trainer/bigram.h"
#include "host/training/trainer/text_trainer.h"
#include "support/ranks.h"
#include "support/scratch_path.h"
#include "training/trainer/decoder_model.h"
#include "training/trainer/offload_choice.h"
#include "training/trainer/trainer.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

class OffloadedRun : public testing::Test {
 protected:
  OffloadedRun() {
    fs::create_directories(folder_.path());
    std::ofstream(path("model.toml"))
        << "layers = 1\nwidth = 8\nheads = 1\nffn = 8\ncontext = 64\n";
    std::ofstream text(path("text.txt"));
    for (int line = 0; line < 60; ++line) text << "the cat " << line * line << " sat on a mat.\n";
    text.close();
    model_ = make_decoder(path("model.toml"), "");
    text_.emplace(path("text.txt"), *model_.tokenizer);
    options_.steps = 8;
    options_.batch = 2;
    options_.schedule = {0.1, 2, 8, RateDecay::kCosine, 0.1};
    options_.reduce.dense_below = 64;
    options_.save_every = 4;
    options_.keep = 0;
  }

  std::string path(const std::string& name) const { return folder_.string() + "/" + name; }

  struct Ended {
    std::vector<float> weights;
    int passes = 0;
    bool operator==(const Ended& other) const { return weights == other.weights; }
  };

  Ended run_rank(const TrainerOptions& options, collectives::Group* group,
                 const std::string& from) {
    ParameterSet parameters(test::bigram_parameters(model_.config.vocab_size));
    parameters.draw(5);
    test::Bigram bigram(parameters, model_.config.vocab_size);
    bigram.poison_pass = poison_pass_;
    test::TextTrainer trainer(options, {model_, parameters, bigram, *text_, nullptr, {}});
    if (!from.empty()) trainer.resume(find_checkpoint(from));
    trainer.run(group);
    Ended ended{{}, bigram.passes};
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      const auto values = parameters.values(at);
      ended.weights.insert(ended.weights.end(), values.begin(), values.end());
    }
    return ended;
  }

  // The same on every rank.
  Ended run(int world, Offload offload, const std::string& out = {}, const std::string& from = {}) {
    TrainerOptions options = options_;
    options.offload = offload;
    options.out = out;
    if (world == 1) return run_rank(options, nullptr, from);
    std::vector<Ended> ended(static_cast<std::size_t>(world));
    test::run_ranks(world, [&](std::unique_ptr<transport::Transport> transport) {
      collectives::Group group(std::move(transport));
      ended[static_cast<std::size_t>(group.rank())] = run_rank(options, &group, from);
    });
    for (const Ended& one : ended) EXPECT_EQ(one, ended[0]);
    return ended[0];
  }

  // For clipped steps, and for those that begin beside the backward pass.
  void expect_equal_bits(int world) {
    for (const double clip : {0.05, 0.0}) {
      options_.clip = clip;
      EXPECT_EQ(run(world, Offload::kHost), run(world, Offload::kNone)) << "clip " << clip;
    }
  }

  test::ScratchPath folder_{"offload"};
  DecoderModel model_;
  std::optional<TokenText> text_;
  TrainerOptions options_;
  int poison_pass_ = -1;
};

TEST_F(OffloadedRun, OneRankHasTheBitsOfTheUpdateInPlace) { expect_equal_bits(1); }

TEST_F(OffloadedRun, RanksHaveTheBitsOfTheUpdateInPlace) { expect_equal_bits(3); }

TEST_F(OffloadedRun, SparsifiedRanksHaveTheBitsOfTheUpdateInPlace) {
  options_.reduce.choice = parse_reduce("topk@0.05");
  options_.reduce.warmup_steps = 0;
  expect_equal_bits(2);
}

TEST_F(OffloadedRun, EveryRuleIsDivided) {
  for (const UpdateRule& rule : {UpdateRule(Sgd{.momentum = 0.9, .weight_decay = 0.1}),
                                 UpdateRule(RowwiseAdagrad{.weight_decay = 0.1})}) {
    options_.rule = rule;
    EXPECT_EQ(run(3, Offload::kHost), run(3, Offload::kNone)) << rule_name(rule);
  }
}

TEST_F(OffloadedRun, ACheckpointDoesNotDependOnWhoUpdates) {
  const Ended expected = run(2, Offload::kNone, path("none"));
  run(2, Offload::kHost, path("host"));
  for (const std::string name : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(read_bytes(path("none/step-00000004/" + name)),
              read_bytes(path("host/step-00000004/" + name)));
  }
  EXPECT_EQ(run(2, Offload::kNone, path("a"), path("host/step-00000004")), expected);
  EXPECT_EQ(run(2, Offload::kHost, path("b"), path("none/step-00000004")), expected);
}

// The samples of a step depend on the number of ranks, so weights do, but not how they are saved.
TEST_F(OffloadedRun, OtherNumbersOfRanksGoOnWithTheWholeState) {
  options_.batch = 3;
  run(2, Offload::kHost, path("two"));
  options_.batch = 2;
  EXPECT_EQ(run(3, Offload::kHost, path("three"), path("two/step-00000004")),
            run(3, Offload::kNone, path("other"), path("two/step-00000004")));
}

TEST_F(OffloadedRun, ANaNSendsAnEarlyUpdateBackToTheCheckpoint) {
  options_.clip = 0;
  options_.on_nan = OnNaN::kBack;
  poison_pass_ = 5;  // of step 6
  const Ended ended = run(2, Offload::kHost, path("host"));
  EXPECT_EQ(ended.passes, 6 + 4);  // steps 5 to 8 again
  EXPECT_EQ(ended, run(2, Offload::kNone, path("none")));
  for (const float weight : ended.weights) ASSERT_TRUE(std::isfinite(weight));
}

TEST_F(OffloadedRun, AStepThatIsLeftOutChangesNothing) {
  options_.clip = 0;
  options_.on_nan = OnNaN::kSkip;
  poison_pass_ = 5;
  const Ended ended = run(2, Offload::kHost);
  EXPECT_EQ(ended, run(2, Offload::kNone));
  for (const float weight : ended.weights) ASSERT_TRUE(std::isfinite(weight));
}

TEST_F(OffloadedRun, AutoHasTheBitsOfBoth) {
  EXPECT_EQ(run(2, Offload::kAuto), run(2, Offload::kNone));
}

TEST(OffloadChoice, OneRankSharesWithNobody) {
  const OffloadPrediction prediction = choose_offload(nullptr, {.parameters = 1000});
  EXPECT_EQ(prediction.place, OffloadPlace::kNone);
  EXPECT_THAT(prediction.reason, testing::HasSubstr("nobody to share"));
}

TEST(OffloadChoice, RanksTakeTheSameFromTheirFigures) {
  std::vector<OffloadPrediction> predictions(3);
  test::run_ranks(3, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    predictions[static_cast<std::size_t>(group.rank())] =
        choose_offload(&group, {.parameters = 100'000});
  });
  for (const OffloadPrediction& one : predictions) {
    EXPECT_GT(one.none_s, 0);
    EXPECT_EQ(one.none_s, predictions[0].none_s);
    EXPECT_EQ(one.offload_s, predictions[0].offload_s);
    EXPECT_EQ(one.place == OffloadPlace::kHost, one.offload_s < one.none_s);
  }
}

}  // namespace
}  // namespace tandem::training
