// SPDX-License-Identifier: Apache-2.0
//
// Buckets of a reducer in the memory of a GPU: means and states are those of buckets in host
// memory, bit for bit. Ranks are threads; the interpreter is for one, so their calls take turns.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "cuda/backend.h"
#include "host/training/reducer/reducers.h"
#include "support/locked_device.h"

namespace tandem::training::test {
namespace {

using testing::HasSubstr;

constexpr int kWorld = 2;
const Shapes kShapes = {
    {"first", {40, 30}}, {"bias", {30}}, {"second", {50, 20}}, {"embed", {25, 4}}};
const std::vector<std::uint32_t> kAll = {0, 1, 2, 3};
constexpr std::size_t kValues = 1200 + 30 + 1000 + 100;

std::shared_ptr<std::mutex> turns() {
  static const auto mutex = std::make_shared<std::mutex>();
  return mutex;
}

OpenDevice open_gpu() {
  return [](std::string_view id) {
    if (id != "cuda:0") throw Error("device", "there is no " + std::string(id));
    const std::lock_guard lock(*turns());
    return std::make_unique<device::test::LockedDevice>(device::cuda_backend().open(0, {}),
                                                        turns());
  };
}

// A matrix is sparsified, the bias is dense, rows of the embedding travel.
ReducerOptions options_of(const std::string& sparsifier) {
  ReducerOptions options = plain_options(sparsifier, 0.05);
  options.rules = {{"bias", "dense", {}, {}}, {"embed", "rows", {}, {}}};
  options.open_device = open_gpu();
  options.timeout = std::chrono::seconds(30);
  return options;
}

std::vector<std::byte> stored(const Values& values, DType type) {
  std::vector<std::byte> bytes;
  const auto append = [&](auto value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  };
  for (const float value : values) {
    if (type == DType::kF32) append(value);
    if (type == DType::kF64) append(static_cast<double>(value));
    if (type == DType::kF16) append(f32_to_f16(value));
    if (type == DType::kBF16) append(f32_to_bf16(value));
  }
  return bytes;
}

// A bucket's memory.
class Memory {
 public:
  Memory(bool on_gpu, const std::vector<std::byte>& bytes) : host_(bytes), on_gpu_(on_gpu) {
    if (!on_gpu_) return;
    const std::lock_guard lock(*turns());
    cudaMalloc(&gpu_, host_.size());
    cudaMemcpy(gpu_, host_.data(), host_.size(), cudaMemcpyHostToDevice);
    // A copy of pageable memory returns once it is staged, and a null queue promises that it is
    // done.
    cudaStreamSynchronize(nullptr);
  }
  ~Memory() {
    const std::lock_guard lock(*turns());
    if (on_gpu_) cudaFree(gpu_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* values() { return on_gpu_ ? gpu_ : host_.data(); }
  Placement placement() const {
    return on_gpu_ ? Placement{tandem::Memory::kDevice, "cuda:0", nullptr} : Placement{};
  }
  std::vector<std::byte> read() {
    const std::lock_guard lock(*turns());
    if (on_gpu_) cudaMemcpy(host_.data(), gpu_, host_.size(), cudaMemcpyDeviceToHost);
    return host_;
  }

 private:
  std::vector<std::byte> host_;
  const bool on_gpu_;
  void* gpu_ = nullptr;
};

struct Trial {
  ReducerOptions options;
  DType type = DType::kF32;
  std::uint64_t steps = 5;
  std::function<bool(int rank, std::uint64_t step)> on_gpu;
  std::function<bool(std::uint64_t step)> exact = [](std::uint64_t) { return false; };
  std::function<void(int rank, std::uint64_t step, Values&)> change = {};
};

struct Found {
  std::vector<std::vector<std::byte>> means;  // of each step
  std::vector<std::byte> state;
  std::string error;
};

std::vector<Found> outcomes_of(const Trial& run) {
  std::vector<Found> found(kWorld);
  run_groups(kWorld, [&](Group& group) {
    Found& own = found[static_cast<std::size_t>(group.rank())];
    RankReducer reducer(group, run.options, kShapes);
    for (std::uint64_t step = 0; step < run.steps; ++step) {
      Values values = reducer.gradients(kAll, step);
      for (std::size_t i = kValues - 100; i < kValues - 60; ++i) values[i] = 0;  // ten rows
      if (run.change) run.change(group.rank(), step, values);
      Memory memory(run.on_gpu(group.rank(), step), stored(values, run.type));
      const Ticket ticket = reducer->submit({.parameters = kAll,
                                             .values = memory.values(),
                                             .type = run.type,
                                             .exact = run.exact(step),
                                             .last = true,
                                             .placement = memory.placement()});
      const std::string text = text_of([&] { reducer->wait(ticket, Deadline::never()); });
      if (!text.empty()) own.error = text;
      own.means.push_back(memory.read());
    }
    own.state = reducer->state();
  });
  return found;
}

const auto kNever = [](int, std::uint64_t) { return false; };
const auto kAlways = [](int, std::uint64_t) { return true; };

void expect_host_bits(Trial run) {
  const auto got = outcomes_of(run);
  run.on_gpu = kNever;
  const auto expected = outcomes_of(run);
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    EXPECT_EQ(got[rank].error, expected[rank].error);
    ASSERT_EQ(got[rank].means.size(), expected[rank].means.size());
    for (std::size_t step = 0; step < run.steps; ++step) {
      EXPECT_EQ(got[rank].means[step], expected[rank].means[step]) << "step " << step;
    }
    EXPECT_EQ(got[rank].state, expected[rank].state) << "rank " << rank;
  }
}

class CudaReducer : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (device::cuda_backend().enumerate({}).empty()) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(CudaReducer, GivesTheMeansAndStatesOfHostMemory) {
  expect_host_bits({.options = options_of(GetParam()), .on_gpu = kAlways});
}

INSTANTIATE_TEST_SUITE_P(Names, CudaReducer, testing::ValuesIn(collectives::sparsifier_names()),
                         [](const auto& info) { return info.param; });

class CudaReducerCases : public CudaReducer {};
INSTANTIATE_TEST_SUITE_P(One, CudaReducerCases, testing::Values("micro"));

TEST_P(CudaReducerCases, EveryTypeIsReducedWhereItLies) {
  for (const DType type : {DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(dtype_name(type));
    expect_host_bits({.options = options_of("micro"), .type = type, .on_gpu = kAlways});
  }
}

TEST_P(CudaReducerCases, ExactStepsAndWarmUpsAreDense) {
  Trial run{.options = options_of("micro"), .on_gpu = kAlways};
  run.options.warmup_steps = 2;
  run.exact = [](std::uint64_t step) { return step == 3; };
  expect_host_bits(run);
}

TEST_P(CudaReducerCases, ResidualsAndThresholdsMoveWithTheGradients) {
  expect_host_bits({.options = options_of("micro"),
                    .steps = 8,
                    .on_gpu = [](int, std::uint64_t step) { return step % 4 == 1 || step == 6; }});
  expect_host_bits({.options = options_of("dgc"),
                    .on_gpu = [](int, std::uint64_t step) { return step % 2 == 1; }});
}

TEST_P(CudaReducerCases, OneRankMayHaveAGpuAndTheOtherNone) {
  expect_host_bits({.options = options_of("exdyna"),
                    .on_gpu = [](int rank, std::uint64_t) { return rank == 1; }});
}

TEST_P(CudaReducerCases, WhatIsNotFiniteStopsSkipsPassesOrIsClipped) {
  for (const OnNonFinite rule :
       {OnNonFinite::kStop, OnNonFinite::kSkip, OnNonFinite::kPass, OnNonFinite::kClip}) {
    for (const DType type : {DType::kF32, DType::kF16}) {
      Trial run{.options = options_of("topk"), .type = type, .on_gpu = kAlways};
      run.options.non_finite = rule;
      run.change = [](int rank, std::uint64_t step, Values& values) {
        if (rank != 1 || step != 2) return;
        values[1240] = std::numeric_limits<float>::infinity();
        values[1250] = std::numeric_limits<float>::quiet_NaN();
      };
      SCOPED_TRACE(testing::Message() << static_cast<int>(rule) << dtype_name(type));
      expect_host_bits(run);
      if (rule != OnNonFinite::kStop) continue;
      EXPECT_THAT(outcomes_of(run)[0].error, HasSubstr("the gradient of second on rank 1"));
    }
  }
}

TEST_P(CudaReducerCases, ABuildOrAMachineWithoutTheDeviceIsAnErrorOnAllRanks) {
  Trial run{.options = options_of("topk"),
            .on_gpu = [](int rank, std::uint64_t) { return rank == 1; }};
  run.options.open_device = {};
  for (const Found& rank : outcomes_of(run)) {
    EXPECT_THAT(rank.error, HasSubstr("rank 1: gradients on cuda:0 cannot be reduced there"));
    EXPECT_THAT(rank.error, HasSubstr("open_device"));
  }
  run.options.open_device = [](std::string_view) -> std::unique_ptr<device::Device> {
    throw Error("cuda", "this build has no CUDA");
  };
  for (const Found& rank : outcomes_of(run)) {
    EXPECT_THAT(rank.error, HasSubstr("this build has no CUDA"));
  }
}

TEST_P(CudaReducerCases, StatisticsNameTheResidualOnTheGpu) {
  std::vector<double> norms;
  for (const bool on_gpu : {false, true}) {
    run_groups(1, [&](Group& group) {
      RankReducer reducer(group, options_of("topk"), kShapes);
      Memory memory(on_gpu, stored(reducer.gradients(kAll, 0), DType::kF32));
      reducer->wait(reducer->submit({.parameters = kAll,
                                     .values = memory.values(),
                                     .last = true,
                                     .placement = memory.placement()}),
                    Deadline::never());
      norms.push_back(reducer->statistics().residual_norm);
    });
  }
  ASSERT_EQ(norms.size(), 2u);
  EXPECT_GT(norms[0], 0);
  EXPECT_EQ(norms[0], norms[1]);
}

}  // namespace
}  // namespace tandem::training::test
