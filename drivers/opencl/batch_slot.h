// SPDX-License-Identifier: Apache-2.0
//
// BatchSlot: the staging memory of one batch in flight, and its completion.
//
// A slot has a packed input and a result, each twice: page-locked host memory, mapped as long as
// the slot exists so that transfers are asynchronous on discrete devices, and device memory. It
// grows to its largest batch. Ownership: borrows the caller's result spans between begin() and
// finish(). Threads: the submitting thread. Errors: cl::Error from the API.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "opencl/attention_plan.h"
#include "opencl/session.h"

namespace tandem::opencl {

// Page-locked host memory with its device twin.
class StagedBuffer {
 public:
  explicit StagedBuffer(const Session& session) : session_(session) {}
  ~StagedBuffer();
  StagedBuffer(const StagedBuffer&) = delete;
  StagedBuffer& operator=(const StagedBuffer&) = delete;

  void reserve(std::size_t bytes);  // forgets the contents when it grows
  const cl::Buffer& device() const { return device_; }
  void* host() const { return mapped_; }

 private:
  void unmap();

  Session session_;
  cl::Buffer device_, pinned_;
  void* mapped_ = nullptr;
  std::size_t bytes_ = 0;
};

class BatchSlot {
 public:
  explicit BatchSlot(const Session& session) : input_(session), result_(session) {}

  // Packs the input and reserves the result: O [q_rows, q_heads, head_stride], LSE [q_rows,
  // q_heads].
  void begin(const device::AttentionGeometry& geometry, int head_stride, BatchPlan plan,
             const device::AttentionBatch& batch, device::AttentionPartial out);

  // kDone when every command of the batch has succeeded.
  device::WaitResult wait(Deadline deadline) const;

  // Copies the result to the caller's rows. Call once wait() has returned kDone.
  void finish(const device::AttentionGeometry& geometry, int head_stride);

  const BatchPlan& plan() const { return plan_; }
  const StagedBuffer& input() const { return input_; }
  const StagedBuffer& result() const { return result_; }
  std::size_t input_bytes() const { return input_bytes_; }
  std::size_t result_bytes() const { return result_bytes_; }
  std::uint32_t lse_at() const {
    return lse_at_;
  }  // index of the word of the result where LSE begins

  // The event of the next command.
  cl::Event* next_event() { return &events.emplace_back(); }

  device::Ticket ticket = 0;      // 0: free
  std::vector<cl::Event> events;  // events of the batch's commands, in order
  std::chrono::steady_clock::time_point submitted;

 private:
  StagedBuffer input_, result_;
  BatchPlan plan_;
  device::AttentionPartial out_;
  std::size_t input_bytes_ = 0, result_bytes_ = 0;
  std::uint32_t lse_at_ = 0;
};

}  // namespace tandem::opencl
