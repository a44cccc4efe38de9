// SPDX-License-Identifier: Apache-2.0
//
// An interpreted GPU is lost during a step: the engine continues without it, with the same tokens.
#include <algorithm>

#include "drivers/cuda/gpu_rig.h"
#include "gpu_kernels/simt/faults.h"

namespace tandem::engine {
namespace {

TEST_F(CudaEngineTest, ALostGpuCostsNoToken) {
  GpuRig gpu(random_model(DType::kF32));
  const auto expected =
      tokens(run_all(*gpu.engine({"cpu", false, Place::kCpu}), requests(gpu.rig)));
  for (const Place attention : {Place::kCuda, Place::kBoth}) {
    GpuRig lost(file_.string());
    Fallbacks fallbacks;
    fallbacks.attention = [&] { return lost.rig.cpu_unit(64); };
    const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
    fallbacks.compute = [&] { return NamedCompute{"cpu", cpu->make_compute_unit(), 0}; };
    const auto engine = lost.engine({"lost", true, attention}, std::move(fallbacks));
    simt::set_faults({.lose_at_work = 60});
    EXPECT_EQ(tokens(run_all(*engine, requests(lost.rig))), expected);
    EXPECT_GE(simt::pieces_of_work(), 60) << "it was not lost";
    simt::clear_faults();
  }
}

// Wherever in the steps: nobody gets a wrong token. The sequences of a refused step run again, each
// alone; who was alone already hears an error. A library that was refused says no more than that it
// failed: then the GPU is taken for lost.
TEST_F(CudaEngineTest, ARefusedLaunchFailsItsStepAndLaterOnesAreRight) {
  GpuRig cpu(random_model(DType::kF32));
  const auto expected =
      tokens(run_all(*cpu.engine({"cpu", false, Place::kCpu}), requests(cpu.rig)));
  int noticed = 0, gone_on = 0;
  for (const Placed& placed : {Placed{"all on cuda", true, Place::kCuda},
                               Placed{"both, two sub-batches", true, Place::kBoth, 2},
                               Placed{"dense layers on the cpu", false, Place::kCuda}}) {
    for (const int at : {1, 2, 17, 64}) {
      SCOPED_TRACE(std::string(placed.name) + ", launch " + std::to_string(at));
      GpuRig gpu(file_.string());
      const auto engine = gpu.engine(placed);
      simt::set_faults({.refuse_at_work = at, .no_graphs = true});
      const auto answers = run_all(*engine, requests(gpu.rig));
      simt::clear_faults();
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const Answer& answer = answers[i];
        if (answer.finish == FinishReason::kError) {
          EXPECT_THAT(answer.last.error, testing::HasSubstr("[cuda] "));
        } else {
          EXPECT_EQ(answer.tokens.size(), expected[i].size());
        }
        EXPECT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), expected[i].begin()));
      }
      const EngineStatus status = engine->status();
      noticed += status.refused_steps > 0 || !status.lost_units().empty() || status.broken;
      if (status.broken) continue;
      ++gone_on;
      EXPECT_EQ(tokens(run_all(*engine, requests(gpu.rig))), expected);
    }
  }
  EXPECT_EQ(noticed, 12);
  EXPECT_GT(gone_on, 6);
}

TEST_F(CudaEngineTest, ARequestAloneInARefusedStepHearsAnError) {
  GpuRig gpu(random_model(DType::kF32));
  const auto engine = gpu.engine({"all on cuda", true, Place::kCuda});
  auto alone = requests(gpu.rig);
  alone.resize(1);
  simt::set_faults({.refuse_at_work = 17, .no_graphs = true});
  const auto answers = run_all(*engine, std::move(alone));
  simt::clear_faults();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].finish, FinishReason::kError);
  EXPECT_THAT(answers[0].last.error, testing::HasSubstr("[cuda] "));
}

}  // namespace
}  // namespace tandem::engine
