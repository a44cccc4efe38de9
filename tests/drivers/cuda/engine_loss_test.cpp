// SPDX-License-Identifier: Apache-2.0
//
// An interpreted GPU that is lost in mid-step: the engine goes on without it, with the same tokens.
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

}  // namespace
}  // namespace tandem::engine
