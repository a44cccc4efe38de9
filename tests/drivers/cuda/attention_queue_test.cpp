// SPDX-License-Identifier: Apache-2.0
//
// The GPU's attention unit beyond the op cases: rows in device buffers in a compute unit's queue,
// shared prefixes, and plans kept over layers.
#include <gtest/gtest.h>

#include "cpu/backend.h"
#include "cuda/attention/attention_unit.h"
#include "cuda/backend.h"
#include "cuda/compute/compute_unit.h"
#include "drivers/device/attention_scenario.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::device_test {
namespace {

using device::MemoryKind;
using device::Slice;
using device::WaitResult;

constexpr double kQueueBound = 1e-6;

class CudaAttentionQueueTest : public testing::Test {
 protected:
  void SetUp() override { simt::set_lazy(true); }
  void TearDown() override { simt::set_lazy(false); }

  std::unique_ptr<device::AttentionUnit> make_unit(const AttentionGeometry& geometry,
                                                   std::uint32_t max_pages = 128) {
    device::AttentionUnitOptions options;
    options.geometry = geometry;
    options.max_pages = max_pages;
    return device_->make_attention_unit(options);
  }

  std::uint64_t launches() {
    return static_cast<cuda::CudaComputeUnit&>(*compute_).gpu().queue.stats().launches;
  }
  Slice room(std::size_t bytes, MemoryKind kind) {
    buffers_.push_back(compute_->allocate(bytes, kind));
    return {buffers_.back().get(), 0};
  }
  Slice on_device(std::span<const float> values) {
    const Slice host = room(values.size_bytes(), MemoryKind::kHost);
    std::memcpy(host.buffer->host().data(), values.data(), values.size_bytes());
    const Slice device = room(values.size_bytes(), MemoryKind::kDevice);
    compute_->enqueue(device::CopyOp{values.size_bytes(), host, device});
    return device;
  }
  std::span<const float> rows_on_device(std::span<const float> values) {
    return device::device_floats(on_device(values), values.size());
  }
  Slice back(const Slice& device) {
    const std::size_t bytes = device.buffer->size_bytes();
    const Slice host = room(bytes, MemoryKind::kHost);
    compute_->enqueue(device::CopyOp{bytes, device, host});
    return host;
  }

  const AttentionGeometry geometry_{2, 8, 2, 64, 16, DType::kF16};
  std::unique_ptr<device::Device> device_ = device::cuda_backend().open(0, {});
  std::unique_ptr<device::ComputeUnit> compute_ = device_->make_compute_unit();
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::mt19937_64 random_{3};
};

TEST_F(CudaAttentionQueueTest, WorksInTheQueueOfItsOwnDevicesComputeUnitsOnly) {
  const auto unit = make_unit(geometry_);
  EXPECT_TRUE(unit->works_in_queue_of(*compute_));
  EXPECT_TRUE(unit->works_in_queue_of(*device_->make_compute_unit()));
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 1});
  EXPECT_FALSE(unit->works_in_queue_of(*cpu->make_compute_unit()));
}

TEST_F(CudaAttentionQueueTest, RowsInDeviceBuffersAreUsedInTheOrderOfTheQueue) {
  const auto unit = make_unit(geometry_);
  PageDeck deck(128, random_);
  SequenceModel a(geometry_, deck.take(4)), b(geometry_, deck.take(4));
  fill(*unit, a, 40, 40, random_);
  fill(*unit, b, 7, 7, random_);
  std::vector<std::unique_ptr<ScenarioBatch>> batches;
  std::vector<Slice> results;
  device::Ticket last = 0;
  for (int layer : {0, 1, 0}) {  // all enqueued before anything is waited for
    auto& scenario =
        *batches.emplace_back(std::make_unique<ScenarioBatch>(geometry_, layer, random_));
    scenario.add(a, {.num_q = 1, .num_new = 1});
    scenario.add(b, {.num_q = 3, .num_new = 3});
    device::AttentionBatch batch = scenario.batch();
    batch.q = rows_on_device(scenario.q());
    batch.k = rows_on_device(scenario.new_k());
    batch.v = rows_on_device(batch.v);
    const Slice o = on_device(scenario.o()), lse = on_device(scenario.lse());
    scenario.take_answers();
    last = unit->submit(batch, {device::device_floats(o, scenario.o().size()),
                                device::device_floats(lse, scenario.lse().size())});
    results.push_back(back(o));  // copies of the same queue
    results.push_back(back(lse));
  }
  ASSERT_EQ(compute_->wait(compute_->record(), Deadline::after(kPatience)), WaitResult::kDone);
  EXPECT_EQ(unit->wait(last, Deadline::after({})), WaitResult::kDone);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const device::AttentionPartial out = batches[i]->out();
    const auto o = device::host_floats(results[2 * i], out.o.size());
    const auto lse = device::host_floats(results[2 * i + 1], out.lse.size());
    std::copy(o.begin(), o.end(), out.o.begin());
    std::copy(lse.begin(), lse.end(), out.lse.begin());
    batches[i]->expect_reference(kQueueBound);
  }
}

// 40 pages that all share, 8 more that two share, and tails of their own.
TEST_F(CudaAttentionQueueTest, SharedPrefixesAnswerAsIfNothingWereShared) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    AttentionGeometry geometry = geometry_;
    geometry.kv_dtype = dtype;
    const auto unit = make_unit(geometry);
    PageDeck deck(128, random_);
    SequenceModel common(geometry, deck.take(20));
    fill(*unit, common, 320, 100, random_);
    const auto fork = [&](const SequenceModel& from, std::size_t pages, std::int32_t tokens) {
      SequenceModel sequence = from;
      for (const auto page : deck.take(pages)) sequence.pages.push_back(page);
      fill(*unit, sequence, tokens, 64, random_);
      return sequence;
    };
    const SequenceModel branch = fork(common, 16, 256);
    std::vector<SequenceModel> sequences;
    sequences.push_back(fork(branch, 2, 5));
    sequences.push_back(fork(branch, 2, 17));
    sequences.push_back(fork(branch, 2, 1));
    sequences.push_back(fork(common, 3, 33));
    sequences.push_back(fork(common, 1, 0));
    for (int layer = 0; layer < geometry.num_layers; ++layer) {
      ScenarioBatch scenario(geometry, layer, random_);
      for (SequenceModel& sequence : sequences) {
        scenario.add(sequence, {.num_q = 1, .num_new = 1, .has_gap = false});
      }
      const std::uint64_t before = launches();
      ASSERT_EQ(unit->wait(scenario.submit(*unit), Deadline::after(kPatience)), WaitResult::kDone);
      scenario.expect_reference(kQueueBound);
      // Copies in and out, the append, what each has alone, what is shared, and the merge.
      EXPECT_EQ(launches() - before, 6u);
    }
  }
}

}  // namespace
}  // namespace tandem::device_test
