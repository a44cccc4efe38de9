// SPDX-License-Identifier: Apache-2.0
//
// Processes that train and save, killed at random instants: no checkpoint is ever lost.
//
// TANDEM_TEST_KILLS says how many (default 60, or what two minutes hold: a busy disk may take
// seconds for a checkpoint). A child resumes, which verifies every file's size and sum, and saves
// after each step; it tells the parent every step that is saved. The parent kills it while it
// starts, or within the time of a step after some step, and looks for the last step that it heard
// of.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "common/deadline.h"
#include "host/training/trainer/bigram.h"
#include "host/training/trainer/text_trainer.h"
#include "support/scratch_path.h"
#include "training/trainer/decoder_model.h"
#include "training/trainer/trainer.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

// Tells every step before the line's: it is saved.
class PipeLog final : public TrainingLog {
 public:
  explicit PipeLog(int pipe) : pipe_(pipe) {}
  void step(const StepFigures& figures) override {
    const std::uint64_t saved = figures.step - 1;
    if (::write(pipe_, &saved, sizeof(saved)) != sizeof(saved)) std::_Exit(1);
  }

 private:
  int pipe_;
};

class TrainerKillsTest : public testing::Test {
 protected:
  TrainerKillsTest() : out_(folder_.string() + "/out") {
    fs::create_directories(folder_.path());
    std::ofstream(folder_.string() + "/model.toml") << test::kSmallDecoder;
    std::ofstream text(folder_.string() + "/text.txt");
    for (int line = 0; line < 60; ++line) text << "the cat " << line * line << " sat on a mat.\n";
  }

  // In the child: for ever. from: "" begins.
  void train(const std::string& from, int pipe) const {
    const DecoderModel model = make_decoder(folder_.string() + "/model.toml", "");
    const TokenText text(folder_.string() + "/text.txt", *model.tokenizer);
    ParameterSet parameters(test::bigram_parameters(model.config.vocab_size));
    parameters.draw(5);
    test::Bigram bigram(parameters, model.config.vocab_size);
    TrainerOptions options;
    options.out = out_;
    options.steps = 1u << 30;
    options.batch = 1;
    options.schedule = {0.1, 0, options.steps, RateDecay::kConstant, 1};
    options.save_every = 1;
    options.keep = 3;
    PipeLog log(pipe);
    test::TextTrainer trainer(options,
                              {model, parameters, bigram, text, nullptr,
                               [&](std::uint64_t) { return std::vector<TrainingLog*>{&log}; }});
    if (!from.empty()) trainer.resume(find_checkpoint(from));
    trainer.run(nullptr);
  }

  // Starts a child and kills it. Returns the last step that it told, or `before`.
  std::uint64_t kill_one(const std::string& from, std::uint64_t before) {
    int pipe[2];
    if (::pipe(pipe) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        train(from, pipe[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      std::_Exit(1);
    }
    ::close(pipe[1]);
    std::uint64_t told = before, next = 0;
    auto instant = std::chrono::steady_clock::now();
    std::chrono::duration<double> step{5e-3};
    const std::uint64_t steps = draw_() % 4;  // 0: while it starts
    for (std::uint64_t heard = 0; heard < steps && hear(pipe[0], next); ++heard) {
      told = next;
      step = std::chrono::steady_clock::now() - instant;
      instant += std::chrono::duration_cast<std::chrono::nanoseconds>(step);
    }
    std::this_thread::sleep_for(step * (draw_() % 1200) / 1000.0);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";
    while (hear(pipe[0], next)) told = next;
    ::close(pipe[0]);
    return told;
  }

  static bool hear(int pipe, std::uint64_t& step) {
    return ::read(pipe, &step, sizeof(step)) == sizeof(step);
  }

  static std::uint64_t step_of(const std::string& path) {
    return find_checkpoint(path).fields.at("step").get<std::uint64_t>();
  }

  test::ScratchPath folder_{"trainer_kills"};
  const std::string out_;
  std::mt19937 draw_{7};
};

TEST_F(TrainerKillsTest, KillsAtAnyInstantLoseNoCheckpoint) {
  const char* wanted = std::getenv("TANDEM_TEST_KILLS");
  const int most = wanted == nullptr ? 60 : std::atoi(wanted);
  const Deadline end =
      wanted == nullptr ? Deadline::after(std::chrono::minutes(2)) : Deadline::never();
  std::uint64_t told = 0, all = 0;
  int kills = 0;
  for (; kills < most && !(end.expired() && all > 0); ++kills) {
    std::string from = fs::exists(out_ + "/latest") ? out_ : "";
    // One child in five goes on from the checkpoint before: what is there is replaced.
    const std::uint64_t step = from.empty() ? 0 : step_of(from);
    if (const auto earlier = CheckpointWriter::folder(out_, step - 1);
        !from.empty() && draw_() % 5 == 0 && fs::exists(earlier)) {
      from = earlier;
    }
    const std::uint64_t begin = from.empty() ? 0 : step_of(from);
    told = kill_one(from, begin);
    all += told - begin;
    if (told > begin) {
      ASSERT_GE(step_of(out_), told) << "after kill " << kills;
    } else if (step > 0) {
      ASSERT_GE(step_of(out_), step - 1) << "after kill " << kills;
    }
  }
  std::printf("%d kills, %llu checkpoints\n", kills, static_cast<unsigned long long>(all));
  EXPECT_GT(all, 0u);
}

}  // namespace
}  // namespace tandem::training
