// SPDX-License-Identifier: Apache-2.0
//
// A GPU (real or interpreted) with cards and host memory beside it, fed by rings: the same tokens
// with and without rings, also with late streams; when a device fails, every request still ends
// with an answer.
#include "common/error.h"
#include "cuda/compute/compute_unit.h"
#include "drivers/cuda/gpu_rig.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::engine {
namespace {

class CudaRings : public CudaEngineTest {
 protected:
  void SetUp() override {
    CudaEngineTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    random_model(DType::kF32);
    GpuRig gpu(file_.string());
    expected_ = tokens(run_all(*gpu.engine({"cpu", false, Place::kCpu}), requests(gpu.rig)));
  }
  void TearDown() override {
    simt::set_lazy(false);
    simt::clear_faults();
  }

  // A GPU, a card and host memory.
  static std::vector<NamedUnit> all_units(GpuRig& gpu, const test::NaiveUnitOptions& card) {
    std::vector<NamedUnit> units;
    units.push_back(gpu.cuda_unit(32));
    units.push_back(gpu.rig.naive_unit("card", card));
    units.push_back(gpu.rig.cpu_unit(32));
    return units;
  }
  static EngineOptions pages_everywhere(int sub_batches) {
    EngineOptions options;
    options.placement = Placement::kInterleave;
    options.num_sub_batches = sub_batches;
    options.max_step_tokens = 24;
    options.compute_id = "cuda:0";
    return options;
  }

  std::vector<std::vector<model::TokenId>> expected_;
};

TEST_F(CudaRings, GiveTheSameTokensOnAndOffAndLate) {
  for (const bool late : {false, true}) {
    for (const int sub_batches : {1, 2}) {
      for (const bool rings : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << "late " << late << " sub-batches " << sub_batches << " rings " << rings);
        GpuRig gpu(file_.string());
        simt::set_lazy(late);
        EngineOptions options = pages_everywhere(sub_batches);
        options.rings = rings;
        options.early_query = late ? EarlyQuery::kOn : EarlyQuery::kOff;
        {
          const auto engine =
              gpu.rig.engine_on(*gpu.compute, all_units(gpu, {.num_pages = 32}), options);
          EXPECT_EQ(tokens(run_all(*engine, requests(gpu.rig))), expected_);
          for (const UnitStatus& unit : engine->status().units) {
            EXPECT_GT(unit.stats.launches, 0u) << unit.id;
          }
        }
        simt::set_lazy(false);
      }
    }
  }
}

TEST_F(CudaRings, MakeADecodeStepOneGraph) {
  GpuRig gpu(file_.string());
  const auto engine = gpu.engine({"attention on the cpu", true, Place::kCpu});
  const std::vector<Request> one = {greedy(gpu.rig.prompt(5, 1), 10)};
  run_all(*engine, one);
  const auto& stats = static_cast<cuda::CudaComputeUnit&>(*gpu.compute).gpu().queue.stats();
  const cuda::QueueStats before = stats;
  run_all(*engine, one);
  EXPECT_GE(stats.graph_launches - before.graph_launches, 8u) << "of 10 steps";
  EXPECT_LE(stats.flushes - before.flushes, 12u);
}

TEST_F(CudaRings, LoseNoTokenWithAUnit) {
  for (const std::uint64_t dies_at : {3, 12}) {
    for (const bool stuck : {false, true}) {
      if (stuck && !simt::is_interpreted()) continue;  // a GPU may load its kernels for that long
      SCOPED_TRACE(testing::Message() << dies_at << " stuck " << stuck);
      GpuRig gpu(file_.string());
      simt::set_lazy(dies_at == 12);
      test::NaiveUnitOptions mortal = {.num_pages = 32};
      EngineOptions options = pages_everywhere(2);
      if (stuck) {
        mortal.slow_batch = dies_at, mortal.slow_for = std::chrono::seconds(3);
        options.device_timeout = std::chrono::seconds(1);
      } else {
        mortal.lose_after = dies_at;
      }
      {
        const auto engine = gpu.rig.engine_on(*gpu.compute, all_units(gpu, mortal), options);
        EXPECT_EQ(tokens(run_all(*engine, requests(gpu.rig))), expected_);
        // A stuck one may just be in time.
        EXPECT_TRUE(stuck || !engine->status().units[1].alive);
        EXPECT_TRUE(engine->status().units[0].alive);
      }
      simt::set_lazy(false);
    }
  }
}

TEST_F(CudaRings, LoseNoTokenWithTheGpu) {
  if (!simt::is_interpreted()) GTEST_SKIP() << "a GPU is not lost to order";
  for (const int lose_at : {3, 40, 41, 42, 43, 200}) {
    SCOPED_TRACE(lose_at);
    GpuRig lost(file_.string());
    const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
    Fallbacks fallbacks;
    fallbacks.attention = [&] { return lost.rig.cpu_unit(64); };
    fallbacks.compute = [&] { return NamedCompute{"cpu", cpu->make_compute_unit(), 0}; };
    const auto engine = lost.rig.engine_on(*lost.compute, all_units(lost, {.num_pages = 32}),
                                           pages_everywhere(lose_at % 2 + 1), std::move(fallbacks));
    simt::set_faults({.lose_at_work = lose_at});
    EXPECT_EQ(tokens(run_all(*engine, requests(lost.rig))), expected_);
    EXPECT_GE(simt::pieces_of_work(), lose_at) << "it was not lost";
    EXPECT_TRUE(engine->status().units[1].alive);
    simt::clear_faults();
  }
}

using CudaRingOps = CudaEngineTest;

TEST_F(CudaRingOps, RefuseWhatIsNoRing) {
  const auto device = device::cuda_backend().open(0, GpuRig::options());
  const auto unit = device->make_compute_unit();
  const auto words = unit->allocate(2 * sizeof(device::RingWords), device::MemoryKind::kHost);
  const auto count = unit->allocate(sizeof(device::RingCount), device::MemoryKind::kDevice);
  const auto rows = unit->allocate(64, device::MemoryKind::kDevice);
  const device::Ring ring{{words.get(), 0}, {count.get(), 0}};
  const auto refuses = [&](std::span<const device::CopyOp> copies, const device::Ring& of) {
    EXPECT_THROW(unit->enqueue(device::PostOp{copies, of, 0}), Error);
    EXPECT_THROW(unit->enqueue(device::AwaitOp{of, copies}), Error);
  };
  refuses({}, {});
  refuses({}, {{words.get(), 8}, {count.get(), 0}});
  refuses({}, {{words.get(), 0}, {count.get(), 4}});
  refuses({}, {{rows.get(), 0}, {count.get(), 0}});
  const device::CopyOp odd[] = {{3, {rows.get(), 0}, {words.get(), 0}}};
  refuses(odd, ring);
  const device::CopyOp beyond[] = {{64, {rows.get(), 4}, {words.get(), 0}}};
  refuses(beyond, ring);
  const std::vector<device::CopyOp> many(device::kMaxRingCopies + 1,
                                         {4, {rows.get(), 0}, {words.get(), 0}});
  refuses(many, ring);
}

}  // namespace
}  // namespace tandem::engine
