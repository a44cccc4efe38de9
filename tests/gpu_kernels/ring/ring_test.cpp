// SPDX-License-Identifier: Apache-2.0
//
// Rows that go to a thread of the host and come back, by launches that are the same every time.
#include "ring/ring.h"

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {
namespace {

// Pinned memory, zero at first.
template <typename T>
class Pinned {
 public:
  explicit Pinned(std::size_t size) : size_(size) {
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&data_), size * sizeof(T),
                             cudaHostAllocPortable | cudaHostAllocMapped));
    std::memset(data_, 0, size * sizeof(T));
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data_[index]; }

 private:
  T* data_ = nullptr;
  const std::size_t size_;
};

struct Words {
  Pinned<std::uint64_t> pinned{3};  // posted, answered, abandoned
  DeviceArray<std::uint32_t> count{std::vector<std::uint32_t>{0, 0, 0}};

  RingPost post() {
    RingPost job;
    job.posted = pinned.data();
    job.count = count.data();
    return job;
  }
  RingAwait await() {
    RingAwait job;
    job.answered = pinned.data() + 1;
    job.abandoned = pinned.data() + 2;
    job.count = count.data();
    return job;
  }
};

void add(RingCopies& rows, void* to, const void* from, std::uint64_t bytes) {
  rows.copies[rows.count++] = {to, from, bytes};
}

// Answers `posts` posts: adds 1 to every value of the slot. The words that it saw.
std::vector<std::uint64_t> answer(Words& words, Pinned<float>& slot, int posts) {
  std::vector<std::uint64_t> seen;
  std::uint64_t last = 0;
  const std::atomic_ref<std::uint64_t> posted(words.pinned[0]), answered(words.pinned[1]);
  for (int i = 0; i < posts; ++i) {
    std::uint64_t word;
    while ((word = posted.load(std::memory_order_acquire)) == last) std::this_thread::yield();
    for (std::size_t at = 0; at < slot.size(); ++at) slot[at] += 1.0f;
    seen.push_back(last = word);
    answered.store(word, std::memory_order_release);
  }
  return seen;
}

// 100,003: more than all blocks take at a time, and no multiple of a line.
TEST_P(KernelTest, RowsOfARingComeBackAsTheHostLeavesThemTimeAfterTime) {
  for (const std::size_t size : {1, 5, 4096, 100'003}) {
    SCOPED_TRACE(size);
    constexpr int kSteps = 3;
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 0.0f);
    DeviceArray<float> rows(values);
    Pinned<float> slot(size);
    Words words;
    RingPost post = words.post();
    RingAwait await = words.await();
    // A line, what is left of the first half, and the second: aligned and not.
    const std::size_t cuts[] = {0, std::min<std::size_t>(4, size), (size + 1) / 2, size};
    for (int i = 0; i < 3; ++i) {
      if (cuts[i + 1] <= cuts[i]) continue;
      const std::size_t bytes = (cuts[i + 1] - cuts[i]) * sizeof(float);
      add(post.rows, slot.data() + cuts[i], rows.data() + cuts[i], bytes);
      add(await.rows, rows.data() + cuts[i], slot.data() + cuts[i], bytes);
    }
    post.tag = 7;
    std::vector<std::uint64_t> seen;
    std::thread host([&] { seen = answer(words, slot, kSteps); });
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_EQ(post_rows(post, nullptr), cudaSuccess);
      ASSERT_EQ(await_rows(await, nullptr), cudaSuccess);
    }
    const std::vector<float> result = rows.download();
    host.join();
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(result[i], values[i] + kSteps) << i;
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], (i + 1) << 32 | 7);
    EXPECT_EQ(words.count.download(), (std::vector<std::uint32_t>{kSteps, 0, 0}));
  }
}

TEST_P(KernelTest, NothingIsWaitedForOnceTheHostHasGivenUp) {
  Words words;
  ASSERT_EQ(post_rows(words.post(), nullptr), cudaSuccess);
  std::atomic_ref<std::uint64_t>(words.pinned[2]).store(1);
  DeviceArray<float> rows(std::vector<float>{1, 2});
  Pinned<float> slot(2);
  RingAwait await = words.await();
  add(await.rows, rows.data(), slot.data(), 2 * sizeof(float));
  ASSERT_EQ(await_rows(await, nullptr), cudaSuccess);
  RingPost post = words.post();
  add(post.rows, slot.data(), rows.data(), 2 * sizeof(float));
  ASSERT_EQ(post_rows(post, nullptr), cudaSuccess);
  EXPECT_EQ(rows.download(), (std::vector<float>{1, 2})) << "nothing is copied from the slot";
  EXPECT_EQ(slot[0], 0.0f) << "nor to it";
  EXPECT_EQ(words.pinned[0], std::uint64_t{2} << 32);
}

TEST_P(KernelTest, WhatIsNoRowOfARingIsRefused) {
  Words words;
  DeviceArray<float> rows(4);
  RingPost post = words.post();
  add(post.rows, rows.data(), rows.data() + 2, 3);
  EXPECT_EQ(post_rows(post, nullptr), cudaErrorInvalidValue);
  RingAwait await = words.await();
  add(await.rows, reinterpret_cast<char*>(rows.data()) + 1, rows.data(), 4);
  EXPECT_EQ(await_rows(await, nullptr), cudaErrorInvalidValue);
  await.rows.count = kMaxRingCopies + 1;
  EXPECT_EQ(await_rows(await, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
