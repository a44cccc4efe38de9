// SPDX-License-Identifier: Apache-2.0
//
// Faults of a GPU: full memory, loss, a missing or an old driver.
#include <gmock/gmock.h>

#include <algorithm>

#include "drivers/cuda/small_step.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::cuda_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class CudaFaultsTest : public testing::Test {
 protected:
  void SetUp() override { simt::set_lazy(true); }
  void TearDown() override {
    simt::clear_faults();
    simt::set_lazy(false);
  }

  static std::size_t free_bytes() {
    std::size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    return free_bytes;
  }
  static std::vector<std::int32_t> two_steps() {
    SmallStep step;
    step.run(0);
    return step.run(1);
  }
};

TEST_F(CudaFaultsTest, FullMemoryAtAnyAllocationIsAnErrorThatSaysWhatToLower) {
  simt::clear_faults();
  const auto tokens = two_steps();
  const int allocations = simt::allocations();
  const std::size_t free_before = free_bytes();
  ASSERT_GT(allocations, 5);
  int failed = 0;
  for (int at = 1; at <= allocations; ++at) {
    SCOPED_TRACE("allocation " + std::to_string(at) + " of " + std::to_string(allocations));
    simt::set_faults({.out_of_memory_from = at});
    try {
      const auto got = two_steps();
      EXPECT_EQ(got, tokens);
    } catch (const DeviceError& error) {
      ADD_FAILURE() << "the device is not at fault: " << error.what();
    } catch (const Error& error) {
      ++failed;
      EXPECT_THAT(error.what(), HasSubstr("[cuda] cuda:0: "));
      EXPECT_THAT(error.what(), HasSubstr(" are free; "));
      EXPECT_THAT(error.what(), HasSubstr("--"));
    }
    simt::clear_faults();
    EXPECT_EQ(free_bytes(), free_before) << "memory leaked";
  }
  EXPECT_GT(failed, 4);
}

TEST_F(CudaFaultsTest, OneRefusedAllocationIsSurvivedWhereLessWillDo) {
  simt::clear_faults();
  const auto tokens = two_steps();
  const int allocations = simt::allocations();
  for (int at = 1; at <= allocations; ++at) {
    simt::set_faults({.out_of_memory_at = at});
    try {
      EXPECT_EQ(two_steps(), tokens);
    } catch (const DeviceError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error&) {
    }
  }
}

TEST_F(CudaFaultsTest, FullMemoryInAStepLeavesTheUnitsWorking) {
  SmallStep step;
  simt::set_faults({.out_of_memory_from = 1});
  EXPECT_THROW(step.run(0), Error);
  EXPECT_FALSE(step.gpu().health.lost());
  simt::clear_faults();
  EXPECT_EQ(step.run(0).size(), 2u);
}

TEST_F(CudaFaultsTest, ADeviceLostAtAnyWorkIsADeviceErrorAndAllCallsAfterItFailAtOnce) {
  simt::clear_faults();
  two_steps();
  const int pieces = simt::pieces_of_work();
  ASSERT_GT(pieces, 20);
  for (int at = 1; at <= pieces; ++at) {
    SCOPED_TRACE("work " + std::to_string(at) + " of " + std::to_string(pieces));
    simt::set_faults({.lose_at_work = at});
    EXPECT_THROW(two_steps(), DeviceError);
    simt::clear_faults();
  }
}

TEST_F(CudaFaultsTest, UnitsOfALostDeviceSaySo) {
  SmallStep step;
  step.run(0);
  const device::Ticket before = step.last_attention();
  simt::set_faults({.lose_at_work = 2});  // behind the copy of its arrays
  EXPECT_THROW(step.run(1), DeviceError);
  const int work = simt::pieces_of_work();
  const device::Ticket lost = step.last_attention();
  EXPECT_EQ(step.attention().wait(before, Deadline::never()), WaitResult::kLost);
  EXPECT_EQ(step.attention().wait(lost, Deadline::never()), WaitResult::kLost);
  EXPECT_THROW(step.run(2), DeviceError);
  EXPECT_THROW(step.compute().wait(1, Deadline::never()), DeviceError);
  EXPECT_THROW(step.compute().allocate(100, MemoryKind::kDevice), DeviceError);
  std::vector<std::byte> image(device::page_image_bytes(step.attention().geometry()));
  EXPECT_EQ(step.attention().export_page(0, image, Deadline::never()), WaitResult::kLost);
  EXPECT_EQ(step.attention().import_page(0, image, Deadline::never()), WaitResult::kLost);
  EXPECT_EQ(simt::pieces_of_work(), work) << "a lost device was asked to work";
}

TEST_F(CudaFaultsTest, WhatAKernelWouldRefuseIsAnErrorWhenItIsEnqueued) {
  SmallStep step;
  const std::int32_t position = 0;
  device::RopeOp op;
  op.rows = 1;
  op.head_dim = 1026;
  op.positions = {&position, 1};
  EXPECT_THROW(step.compute().enqueue(op), Error);
  EXPECT_EQ(step.run(0).size(), 2u);
}

cudaError_t refuse(const int&, cudaStream_t) { return cudaErrorInvalidValue; }

TEST_F(CudaFaultsTest, AStepBehindARefusedOneIsAsIfItHadNotBeen) {
  const auto tokens = two_steps();
  SmallStep step;
  cuda::Queue& queue = step.gpu().queue;
  queue.begin(0, 0);
  queue.add<refuse>("refusing");
  EXPECT_THROW(step.run(0), Error) << "nothing of it was launched";
  EXPECT_FALSE(step.gpu().health.lost());
  step.run(0);  // angles and plans of the refused one must not be used
  EXPECT_EQ(step.run(1), tokens);
}

// At every launch of a step; then of a step that would be a graph.
TEST_F(CudaFaultsTest, ALaunchRefusedAnywhereIsAnErrorToAllThatWaitAndTheNextStepIsRight) {
  for (const bool graphs : {false, true}) {
    SmallStep step;
    simt::set_faults({.no_graphs = !graphs});
    const auto tokens = step.run(0);
    step.run(0);
    simt::set_faults({.no_graphs = !graphs});
    step.run(0);
    const int pieces = simt::pieces_of_work();
    ASSERT_GT(pieces, graphs ? 1 : 8);
    for (int at = 1; at <= pieces; ++at) {
      SCOPED_TRACE("launch " + std::to_string(at) + " of " + std::to_string(pieces));
      simt::set_faults({.refuse_at_work = at, .no_graphs = !graphs});
      const bool refused = [&] {
        try {
          EXPECT_EQ(step.run(0), tokens);
          return false;
        } catch (const DeviceError& error) {
          ADD_FAILURE() << error.what();
          return false;
        } catch (const Error&) {
          return true;
        }
      }();
      EXPECT_TRUE(refused);
      const device::Ticket ticket = step.last_attention();
      for (int times = 0; times < 2; ++times) {
        EXPECT_THROW(step.attention().wait(ticket, Deadline::never()), Error);
      }
      EXPECT_EQ(step.run(0), tokens);
      EXPECT_EQ(step.attention().wait(step.last_attention(), Deadline::never()), WaitResult::kDone);
    }
  }
}

TEST_F(CudaFaultsTest, ABatchRefusedUnheardIsToldToWhoWaitsForALaterOne) {
  SmallStep step;
  step.run(0);
  cuda::Queue& queue = step.gpu().queue;
  const auto submit_refused = [&] {
    step.enqueue(1);
    queue.begin(0, 0);
    queue.add<refuse>("refusing");
    queue.finish(Deadline::never());
    return step.last_attention();
  };
  const device::Ticket first = submit_refused(), second = submit_refused();
  step.enqueue(1);
  EXPECT_THROW(queue.flush(), Error);
  EXPECT_THROW(queue.flush(), Error) << "each of the two";
  queue.flush();
  const auto wait = [&](device::Ticket ticket) {
    return step.attention().wait(ticket, Deadline::never());
  };
  EXPECT_THROW(wait(step.last_attention()), Error);
  EXPECT_EQ(wait(step.last_attention()), WaitResult::kDone) << "it was told of both";
  EXPECT_THROW(wait(second), Error);
  EXPECT_THROW(wait(first), Error);
}

device::AttentionUnitOptions unit_of(int head_dim, DType kv_dtype) {
  device::AttentionUnitOptions options;
  options.geometry = {.num_layers = 1,
                      .q_heads = 2,
                      .kv_heads = 1,
                      .head_dim = head_dim,
                      .page_tokens = 16,
                      .kv_dtype = kv_dtype};
  options.max_pages = 8;
  return options;
}

// 20 rows of one sequence that see all of them, in the host's memory: values are 1.
struct OneChunk {
  explicit OneChunk(int head_dim)
      : dim(static_cast<std::size_t>(head_dim)), q(20 * 2 * dim, 0.5f), k(20 * dim, 1.0f) {
    batch.scale = 0.125f;
    batch.q = q;
    batch.k = k;
    batch.v = k;
    batch.sequences = {&sequence, 1};
    batch.pages = pages;
  }
  OneChunk(const OneChunk&) = delete;
  OneChunk& operator=(const OneChunk&) = delete;

  void attend(device::AttentionUnit& unit) {
    const device::Ticket ticket = unit.submit(batch, {o, lse});
    EXPECT_EQ(unit.wait(ticket, Deadline::after(std::chrono::seconds(60))), WaitResult::kDone);
  }
  void expect_answered() const {
    for (const float value : o) ASSERT_NEAR(value, 1.0f, 1e-5f);
  }

  std::size_t dim;
  std::vector<float> q, k, o = std::vector<float>(20 * 2 * dim), lse = std::vector<float>(20 * 2);
  device::AttentionSequence sequence{.num_q = 20, .num_new = 20, .num_attend = 20, .num_pages = 2};
  device::PageId pages[2] = {3, 5};
  device::AttentionBatch batch;
};

TEST_F(CudaFaultsTest, RowsOfARefusedBatchAreFreeAgain) {
  const auto device = device::cuda_backend().open(0, {});
  const auto compute = device->make_compute_unit();
  const auto unit = device->make_attention_unit(unit_of(64, DType::kF16));
  cuda::Queue& queue = static_cast<cuda::CudaComputeUnit&>(*compute).gpu().queue;
  OneChunk chunk(64);
  chunk.attend(*unit);  // its memory is there now
  for (int turn = 0; turn < 10; ++turn) {
    queue.begin(0, 0);
    queue.add<refuse>("refusing");
    EXPECT_THROW(chunk.attend(*unit), Error);
  }
  std::ranges::fill(chunk.o, 0.0f);
  chunk.attend(*unit);
  chunk.expect_answered();
}

TEST_F(CudaFaultsTest, BlocksOf99KiBHoldHeadsOf128AndWiderOnesAreRefusedByName) {
  simt::set_faults({.block_shared_bytes = 99 << 10});
  const auto device = device::cuda_backend().open(0, {});
  for (const DType type : {DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3}) {
    SCOPED_TRACE(dtype_name(type));
    const auto unit = device->make_attention_unit(unit_of(128, type));
    OneChunk chunk(128);
    chunk.attend(*unit);
    chunk.expect_answered();
    try {
      device->make_attention_unit(unit_of(256, type));
      ADD_FAILURE() << "made";
    } catch (const DeviceError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("heads of 256 values (head_dim)"));
      EXPECT_THAT(error.what(), HasSubstr("99 KiB"));
    }
  }
}

TEST_F(CudaFaultsTest, AStepThatCannotBeCapturedIsTheSame) {
  std::vector<std::vector<std::int32_t>> answers[2];
  for (const bool graphs : {true, false}) {
    simt::set_faults({.no_graphs = !graphs});
    SmallStep step;
    for (std::int32_t position = 0; position < 6; ++position) {
      answers[graphs].push_back(step.run(position));
    }
    const cuda::QueueStats& stats = step.gpu().queue.stats();
    if (graphs) {
      EXPECT_GE(stats.graph_launches, 4u) << "decode steps repeat";
    } else {
      EXPECT_EQ(stats.graph_launches, 0u);
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(CudaFaultsTest, AMissingDriverAnOldOneAndNoDeviceAreSaid) {
  const device::Backend& backend = device::cuda_backend();
  const auto open_error = [&] {
    try {
      backend.open(0, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  simt::set_faults({.driver_version = 0});
  EXPECT_FALSE(backend.available());
  EXPECT_TRUE(backend.enumerate({}).empty());
  EXPECT_THAT(backend.unavailable_reason(), HasSubstr("no NVIDIA driver is installed"));
  EXPECT_THAT(open_error(), HasSubstr("[cuda] no NVIDIA driver"));
  simt::set_faults({.driver_version = 11040});
  EXPECT_THAT(backend.unavailable_reason(),
              HasSubstr("supports CUDA 11.4, but this build needs 12.0; update the driver"));
  EXPECT_THAT(open_error(), HasSubstr("update the driver"));
  simt::set_faults({.num_devices = 0});
  EXPECT_TRUE(backend.available());
  EXPECT_TRUE(backend.enumerate({}).empty());
  EXPECT_THAT(open_error(), HasSubstr("there is no device cuda:0; 0 found"));
}

TEST_F(CudaFaultsTest, PagesThatDoNotFitAreRefusedBeforeTheyAreTaken) {
  simt::clear_faults();
  const auto device = device::cuda_backend().open(0, {});
  device::AttentionUnitOptions options;
  options.geometry = {.num_layers = 4, .q_heads = 4, .kv_heads = 4, .head_dim = 128};
  options.kv_bytes = std::uint64_t{3} << 30;
  const int before = simt::allocations();
  try {
    device->make_attention_unit(options);
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("KV pages need 3.00 GiB"));
    EXPECT_THAT(error.what(), HasSubstr("lower --kv-memory"));
  }
  EXPECT_EQ(simt::allocations(), before);
  // All that is left, and less what others will take.
  options.kv_bytes = 0;
  const auto pages = [&] { return device->make_attention_unit(options)->capacity().num_pages; };
  const std::uint32_t all = pages();
  options.kept_bytes = std::uint64_t{256} << 20;
  EXPECT_NEAR(all - pages(), (256 << 20) / (4 * 2 * 4 * 16 * 128 * 2), 1);
}

}  // namespace
}  // namespace tandem::cuda_test
