// SPDX-License-Identifier: Apache-2.0
//
// Several GPUs of one process: copies between them, sums by a double of NCCL, memory of another
// process. Streams work as late as possible, so that a missing order shows.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/error.h"
#include "cuda/gpu/buffer.h"
#include "cuda/group/ipc_memory.h"
#include "cuda/group/nccl_reducer.h"
#include "cuda/group/peer_copy.h"
#include "cuda/queue/copy.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::cuda {
namespace {

using device::MemoryKind;
using device::Slice;
using device::WaitResult;
using testing::Each;
using testing::ElementsAreArray;

// NCCL as it promises to work: a group's sum is done on all streams behind what was put there, on
// none before all have come to it.
struct FakeNccl {
  struct Part {
    float* values;
    std::size_t count;
    cudaStream_t stream;
  };
  std::vector<Part> group;
  int live = 0, aborted = 0, sums = 0;
  int fail_next = 0, async_state = 0;

  void end() {
    const std::vector<Part> parts = std::exchange(group, {});
    if (parts.empty()) return;
    ++sums;
    const auto done = std::make_shared<bool>(false);
    for (const Part& part : parts) {
      cudaEvent_t come = nullptr;
      cudaEventCreateWithFlags(&come, cudaEventDisableTiming);
      cudaEventRecord(come, part.stream);
      for (const Part& other : parts) cudaStreamWaitEvent(other.stream, come, 0);
      cudaEventDestroy(come);
    }
    for (const Part& mine : parts) {
      simt::on_stream(mine.stream, [parts, done] {
        if (std::exchange(*done, true)) return;
        for (std::size_t i = 0; i < parts[0].count; ++i) {
          float sum = 0;
          for (const Part& part : parts) sum += part.values[i];
          for (const Part& part : parts) part.values[i] = sum;
        }
      });
    }
  }
};
FakeNccl fake;

const NcclCalls& fake_calls() {
  static const NcclCalls calls = [] {
    NcclCalls made;
    made.make_comms = [](NcclCalls::Comm* comms, int count, const int*) {
      if (fake.fail_next != 0) return std::exchange(fake.fail_next, 0);
      for (int i = 0; i < count; ++i) comms[i] = &fake;
      fake.live += count;
      return 0;
    };
    made.destroy_comm = [](NcclCalls::Comm) { return --fake.live, 0; };
    made.abort_comm = [](NcclCalls::Comm) { return --fake.live, ++fake.aborted, 0; };
    made.async_error = [](NcclCalls::Comm) { return fake.async_state; };
    made.begin_group = [] { return 0; };
    made.end_group = [] { return fake.end(), std::exchange(fake.fail_next, 0); };
    made.add_up = [](float* values, std::size_t count, NcclCalls::Comm, cudaStream_t stream) {
      fake.group.push_back({values, count, stream});
      return 0;
    };
    made.error_string = [](int) { return "a link is down"; };
    return made;
  }();
  return calls;
}

class GpuGroup : public testing::Test {
 protected:
  static constexpr int kGpus = 3;
  static constexpr std::size_t kCount = 1000;

  void SetUp() override {
    simt::Faults faults;
    faults.num_devices = kGpus;
    simt::set_faults(faults);
    simt::set_lazy(true);
    fake = {};
    for (int i = 0; i < kGpus; ++i) {
      gpus_.push_back(std::make_unique<Gpu>(i, "cuda:" + std::to_string(i)));
      for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost}) {
        auto& list = kind == MemoryKind::kHost ? host_ : device_;
        list.push_back(std::make_unique<CudaBuffer>(*gpus_.back(), kCount * sizeof(float), kind));
      }
    }
  }
  void TearDown() override {
    host_.clear();
    device_.clear();
    gpus_.clear();
    simt::clear_faults();
    simt::set_lazy(false);
  }

  std::vector<Gpu*> gpus() {
    std::vector<Gpu*> all;
    for (const auto& gpu : gpus_) all.push_back(gpu.get());
    return all;
  }
  static std::size_t at(int gpu) { return static_cast<std::size_t>(gpu); }
  std::span<float> host(int gpu) { return device::host_floats({host_[at(gpu)].get(), 0}, kCount); }
  void copy(int gpu, CudaBuffer& from, CudaBuffer& to) {
    gpus_[at(gpu)]->queue.begin(0, 0);
    auto& job = gpus_[at(gpu)]->queue.add<copy_bytes>("copying");
    job = {to.address(), from.address(), kCount * sizeof(float)};
  }
  void upload(int gpu, float value) {
    std::ranges::fill(host(gpu), value);
    copy(gpu, *host_[at(gpu)], *device_[at(gpu)]);
  }
  std::span<float> download(int gpu) {
    copy(gpu, *device_[at(gpu)], *host_[at(gpu)]);
    Queue& queue = gpus_[at(gpu)]->queue;
    EXPECT_EQ(queue.wait(queue.flush(), Deadline::after(std::chrono::seconds(5))),
              WaitResult::kDone);
    return host(gpu);
  }
  Slice slice(int gpu, std::size_t first = 0) {
    return {device_[at(gpu)].get(), first * sizeof(float)};
  }

  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::unique_ptr<CudaBuffer>> device_, host_;
};

TEST_F(GpuGroup, CopiesBehindWhatTheSenderDidAndBeforeWhatItDoesNext) {
  CudaPeerCopy peers(gpus());
  upload(0, 1.0f);
  upload(1, 2.0f);
  peers.copy(0, slice(0), 1, slice(1), kCount / 2 * sizeof(float));
  // The sender's memory changes at once, from other pinned memory.
  std::ranges::fill(host(2), 7.0f);
  copy(0, *host_[2], *device_[0]);
  const auto received = download(1);
  EXPECT_THAT(received.first(kCount / 2), Each(1.0f));
  EXPECT_THAT(received.subspan(kCount / 2), Each(2.0f));
  EXPECT_THAT(download(0), Each(7.0f));
}

TEST_F(GpuGroup, CopiesFromAndToPinnedMemoryToo) {
  CudaPeerCopy peers(gpus());
  constexpr std::size_t kBytes = kCount * sizeof(float);
  std::ranges::fill(host(0), 4.0f);
  peers.copy(0, {host_[0].get(), 0}, 1, slice(1), kBytes);
  peers.copy(1, slice(1), 2, {host_[2].get(), 0}, kBytes);
  EXPECT_THAT(download(1), Each(4.0f));
  EXPECT_EQ(gpus_[2]->queue.wait(gpus_[2]->queue.flush(), Deadline::after(std::chrono::seconds(5))),
            WaitResult::kDone);
  EXPECT_THAT(host(2), Each(4.0f));
}

TEST_F(GpuGroup, OrdersUsesOfPinnedMemory) {
  CudaPeerCopy peers(gpus());
  upload(0, 3.0f);
  std::ranges::fill(host(2), 0.0f);
  copy(0, *device_[0], *host_[2]);
  peers.order(0, 1);
  copy(1, *host_[2], *device_[1]);
  EXPECT_THAT(download(1), Each(3.0f));
}

TEST_F(GpuGroup, RefusesCopiesOfOthersMemory) {
  CudaPeerCopy peers(gpus());
  EXPECT_THROW(peers.copy(0, slice(1), 1, slice(1), 4), Error);
  EXPECT_THROW(peers.copy(0, slice(0, kCount), 1, slice(1), 4), Error);
  EXPECT_THROW(peers.copy(0, {}, 1, slice(1), 4), Error);
}

TEST_F(GpuGroup, AddsUpWithoutAWaitAndTheSameEverywhere) {
  {
    NcclReducer reducer(gpus(), fake_calls());
    EXPECT_EQ(fake.live, kGpus);
    std::vector<Slice> parts;
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      upload(gpu, static_cast<float>(1 << gpu));
      parts.push_back(slice(gpu, 10));
    }
    reducer.all_reduce(parts, kCount - 10);
    reducer.all_reduce(parts, kCount - 10);
    for (const int gpu : {2, 0, 1}) {
      const auto sums = download(gpu);
      EXPECT_THAT(sums.first(10), Each(static_cast<float>(1 << gpu)));
      EXPECT_THAT(sums.subspan(10), Each(21.0f));
    }
    EXPECT_EQ(fake.sums, 2);
  }
  EXPECT_EQ(fake.live, 0);
  EXPECT_EQ(fake.aborted, 0);
}

TEST_F(GpuGroup, IsLostWhenASumFails) {
  const std::vector<Slice> parts = {slice(0), slice(1), slice(2)};
  {
    NcclReducer reducer(gpus(), fake_calls());
    fake.async_state = 2;
    EXPECT_THROW(reducer.all_reduce(parts, kCount), DeviceError);
    for (const auto& gpu : gpus_) EXPECT_TRUE(gpu->health.lost());
  }
  EXPECT_EQ(fake.aborted, kGpus) << "kernels that wait for each other must end";
}

TEST_F(GpuGroup, IsLostWhenAGroupCannotBeLaunched) {
  NcclReducer reducer(gpus(), fake_calls());
  fake.fail_next = 3;
  const std::vector<Slice> parts = {slice(0), slice(1), slice(2)};
  EXPECT_THROW(reducer.all_reduce(parts, kCount), DeviceError);
  EXPECT_THROW(gpus_[1]->health.require(), DeviceError);
}

TEST_F(GpuGroup, SaysWhyItCannotConnect) {
  fake.fail_next = 1;
  try {
    NcclReducer reducer(gpus(), fake_calls());
    FAIL() << "connected";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a link is down"));
  }
}

TEST_F(GpuGroup, SharesMemoryWithOtherProcesses) {
  ExportedMemory exported(*gpus_[0], kCount * sizeof(float));
  const IpcHandle handle = exported.handle();
  EXPECT_EQ(handle.size_bytes, kCount * sizeof(float));
  ImportedMemory imported(*gpus_[1], handle);
  ASSERT_EQ(imported.size_bytes(), handle.size_bytes);
  std::memset(exported.data(), 0x2a, handle.size_bytes);
  EXPECT_EQ(imported.data()[handle.size_bytes - 1], std::byte{0x2a});
  IpcHandle broken = handle;
  broken.bytes[0] ^= std::byte{0xff};
  EXPECT_THROW(ImportedMemory(*gpus_[1], broken), DeviceError);
  EXPECT_FALSE(gpus_[1]->health.lost()) << "the GPU is well";
}

TEST_F(GpuGroup, SaysWhenThereIsNoMemoryToShare) {
  EXPECT_THROW(ExportedMemory(*gpus_[0], std::size_t{1} << 40), DeviceError);
  EXPECT_FALSE(gpus_[0]->health.lost());
}

}  // namespace
}  // namespace tandem::cuda
