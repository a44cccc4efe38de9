// SPDX-License-Identifier: Apache-2.0
//
// A process that is killed while layers are on their way to it, or before it confirms them: the old
// owner, another process, has them as its last update left them, and its run ends with the loss.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "host/training/pipeline/toy_run.h"
#include "support/scratch_path.h"
#include "transport/gloo/gloo.h"
#include "transport/transport_error.h"

namespace tandem::training {
namespace {

using test::RunOptions;
using test::RunResult;
using test::ToyRuns;

constexpr std::uint64_t kMovesAfter = 2;  // steps

enum class Death { kMakingRoom, kDuringPasses, kBeforeConfirming };

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
  std::abort();
}

// Kills its process in the step in which layers move.
class MortalLayer final : public test::ToyLayer {
 public:
  MortalLayer(const LayerSpec& layer, ParameterSet& parameters, bool moves, Death death)
      : ToyLayer(layer.part, parameters), moves_(moves), death_(death) {
    if (moves && death == Death::kMakingRoom) die();
  }
  // The old layers of the victim make four passes a step.
  double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                 float* y) override {
    const bool is_moving_step = forward_passes / 4 == kMovesAfter;
    if (!moves_ && death_ == Death::kDuringPasses && is_moving_step) die();
    return ToyLayer::forward(pass, batch, x, y);
  }

 private:
  const bool moves_;
  const Death death_;
};

// Kills its process when it would confirm layer 2, which it has taken and updated.
class MortalTransport final : public transport::Transport {
 public:
  explicit MortalTransport(std::unique_ptr<Transport> inner)
      : Transport(inner->rank(), inner->world()), inner_(std::move(inner)) {}

  std::string_view kind() const override { return inner_->kind(); }
  std::string node_name() const override { return inner_->node_name(); }
  bool fails_alone() const override { return inner_->fails_alone(); }
  void set_failure_scope(transport::FailureScope scope) override {
    inner_->set_failure_scope(scope);
  }
  void close(int peer, const std::string& reason) noexcept override { inner_->close(peer, reason); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override { return inner_->shrink(deadline); }

 private:
  std::unique_ptr<transport::Exchange> do_start(std::vector<transport::Outgoing> sends,
                                                std::vector<transport::Source> sources) override {
    for (const transport::Outgoing& send : sends) {
      const bool is_of_layer = (send.tag & 0xfffu) == 3 * 2 + 2;  // the third message of layer 2
      if (is_of_layer && send.payload.size() == sizeof(std::uint64_t)) die();
    }
    return inner_->start(std::move(sends), std::move(sources));
  }

  std::unique_ptr<Transport> inner_;
};

RunOptions two_ranks() {
  RunOptions options{.ranks = 2};
  options.pipeline.cuts = {4};
  options.pipeline.rebalance_every = kMovesAfter;
  options.pipeline.choose = [](auto, const auto&) -> std::optional<NewStages> {
    return NewStages{{2}};  // layers 2 and 3 go to rank 1
  };
  options.reduce.timeout = std::chrono::milliseconds(20'000);
  return options;
}

std::unique_ptr<transport::Transport> connect(int rank, const std::string& folder) {
  transport::gloo::Options options;
  options.rank = rank;
  options.world = 2;
  options.store_directory = folder;
  options.address = "127.0.0.1";
  return transport::gloo::connect(options);
}

// Rank 1 does not survive.
void be_victim(Death death, const std::string& folder) {
  const RunOptions options = two_ranks();
  test::ToySamples samples;
  test::Figures figures;
  RunResult run;
  PipelineParts parts = ToyRuns::parts_of(options, samples, figures, run);
  parts.make = [&](const LayerSpec& layer, ParameterSet& parameters) {
    const bool moves = layer.block == 1 || layer.block == 2;  // layers 2 and 3
    return std::make_unique<MortalLayer>(layer, parameters, moves, death);
  };
  PipelineTrainer trainer(ToyRuns::trainer_options(options), options.pipeline, std::move(parts));
  std::unique_ptr<transport::Transport> connections = connect(1, folder);
  if (death == Death::kBeforeConfirming) {
    connections = std::make_unique<MortalTransport>(std::move(connections));
  }
  collectives::Group group(std::move(connections));
  trainer.run(&group);
}

bool is_same(TrainedLayer& layer, const RunResult& expected) {
  for (std::size_t at = 0; at < layer.spec().numbers.size(); ++at) {
    const auto values = layer.parameters().values(at);
    const std::string& name = layer.parameters().spec(at).name;
    if (!std::ranges::equal(values, expected.weights.at(name))) return false;
  }
  return true;
}

// Rank 0. Returns the exit code: 0 if it ends with the loss and has its layers.
int be_survivor(Death death, const std::string& folder) {
  const std::uint64_t steps = kMovesAfter + (death == Death::kBeforeConfirming ? 1 : 0);
  const RunResult expected = ToyRuns::run({.steps = steps});
  const RunOptions options = two_ranks();
  test::ToySamples samples;
  test::Figures figures;
  RunResult run;
  PipelineTrainer trainer(ToyRuns::trainer_options(options), options.pipeline,
                          ToyRuns::parts_of(options, samples, figures, run));
  collectives::Group group(connect(0, folder));
  try {
    trainer.run(&group);
    return 2;
  } catch (const transport::TransportError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (trainer.steps_done() != steps) return 3;
  for (const int layer : {0, 1, 2, 3}) {
    if (!trainer.layers().contains(layer)) return 4;
    if (!is_same(*trainer.layers().at(layer), expected)) return 5;
  }
  return 0;
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class KilledMigration : public testing::TestWithParam<Death> {};

TEST_P(KilledMigration, LeavesTheLayersWithTheirOldOwner) {
  if (!transport::gloo::available()) GTEST_SKIP() << "this build has no gloo";
  const test::ScratchPath folder("killed");
  const pid_t victim = ::fork();
  if (victim == 0) {
    be_victim(GetParam(), folder.string());
    ::_exit(1);
  }
  const pid_t survivor = ::fork();
  if (survivor == 0) ::_exit(be_survivor(GetParam(), folder.string()));
  const int died = status_of(victim), ended = status_of(survivor);
  EXPECT_TRUE(WIFSIGNALED(died) && WTERMSIG(died) == SIGKILL) << died;
  ASSERT_TRUE(WIFEXITED(ended)) << ended;
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

INSTANTIATE_TEST_SUITE_P(When, KilledMigration,
                         testing::Values(Death::kMakingRoom, Death::kDuringPasses,
                                         Death::kBeforeConfirming));

}  // namespace
}  // namespace tandem::training
