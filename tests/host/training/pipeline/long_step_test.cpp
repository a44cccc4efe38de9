// SPDX-License-Identifier: Apache-2.0
//
// A step that takes longer than the timeout: ranks that wait for its end hear that the others work.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "host/training/pipeline/toy_run.h"
#include "training/pipeline/step_pulse.h"
#include "transport/transport_error.h"

namespace tandem::training {
namespace {

using test::RunOptions;
using test::RunResult;

class LongStep : public test::ToyRuns {};

// Its passes take a while from the second step on.
class SlowLayer final : public test::ToyLayer {
 public:
  SlowLayer(const LayerSpec& layer, ParameterSet& parameters, std::atomic<int>& passes)
      : ToyLayer(layer.part, parameters), passes_(passes) {}

  double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                 float* y) override {
    ++passes_;
    wait();
    return ToyLayer::forward(pass, batch, x, y);
  }
  void backward(int slot, float scale, const float* dy, float* dx, bool put_off) override {
    wait();
    ToyLayer::backward(slot, scale, dy, dx, put_off);
  }

 private:
  void wait() const {
    if (passes_ > 4) std::this_thread::sleep_for(std::chrono::milliseconds(800));
  }
  std::atomic<int>& passes_;  // forward, of all ranks that have had the layer
};

// Ranks that have no passes, or end early, wait for longer than three times the timeout.
TEST_F(LongStep, AStepMayTakeLongerThanTheTimeout) {
  for (const bool freed : {true, false}) {
    RunOptions options{.steps = 2};
    if (freed) {
      options.pipeline.choose = [](auto, const auto&) -> std::optional<NewStages> {
        return NewStages{.ranks = 1};
      };
    } else {
      options.pipeline.work.freeze = 0.05;  // five layers in the second step
    }
    const RunResult one = run(options);
    options.ranks = 2;
    options.pipeline.cuts = {5};
    options.pipeline.rebalance_every = freed ? 1 : 0;
    options.pipeline.overlap = false;
    options.reduce.timeout = std::chrono::milliseconds(2'000);  // eight slow passes: 6.4 s
    std::atomic<int> passes{0};
    options.make = [&](const LayerSpec& layer, ParameterSet& parameters) {
      return layer.block == 4 && layer.part == DecoderPart::kBlock
                 ? std::make_unique<SlowLayer>(layer, parameters, passes)
                 : test::make_toy(layer, parameters);
    };
    expect_same(one, run(options));
    EXPECT_EQ(passes, 8);
  }
}

TEST(StepPulse, ASilentRankIsLost) {
  std::atomic<bool> lost{false};
  test::run_ranks(2, [&](std::unique_ptr<transport::Transport> transport) {
    if (transport->rank() == 1) return lost.wait(false);  // its connection stays
    StepPulse pulse(transport.get(), 3, std::chrono::milliseconds(100));
    EXPECT_THROW(pulse.finish(), transport::TransportError);
    lost = true;
    lost.notify_all();
  });
}

TEST(StepPulse, APassThatIsShortIsNotTold) {
  test::run_ranks(2, [](std::unique_ptr<transport::Transport> transport) {
    StepPulse pulse(transport.get(), 3, std::chrono::hours(1));
    for (int pass = 0; pass < 100; ++pass) pulse.beat();
    pulse.finish();
    EXPECT_EQ(transport->traffic().bytes_sent(), 1u);  // that its passes are over
  });
}

}  // namespace
}  // namespace tandem::training
