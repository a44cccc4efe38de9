// SPDX-License-Identifier: Apache-2.0
//
// Queue: all work of the compute and attention units of one GPU, in order.
//
// An operation appends launch records (a kernel's function and arguments) to the open sequence.
// flush() launches the sequence on the one stream and ends it with an event; the number of the
// sequence is its position. A sequence whose records equal those of an earlier one, byte for byte,
// runs as one CUDA graph (step_graphs.h). So operations keep the records of decode steps equal:
// records hold device addresses of staged arrays, never host arrays; all operations share
// scratch(); new records are zeroed, so that padding compares equal. Threads: one. Errors:
// DeviceError once the GPU is lost. Host cost: filling a record; per flush a hash and a comparison
// (20 KB per 100 launches), one copy, one launch, one event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/deadline.h"
#include "cuda/memory/memory_pool.h"
#include "cuda/queue/step_graphs.h"
#include "cuda/runtime/handles.h"
#include "cuda/runtime/health.h"
#include "device/attention_unit.h"

namespace tandem::cuda {

template <typename Function>
struct LaunchTraits;
template <typename Job>
struct LaunchTraits<cudaError_t (*)(const Job&, cudaStream_t)> {
  using JobType = Job;
};

// Device memory that a queue and a compute unit use besides weights and activations, in usual
// steps: staged arrays, scratch, the products' workspace.
inline constexpr std::uint64_t kQueueWorkspaceBytes = std::uint64_t{160} << 20;

struct QueueStats {
  std::uint64_t flushes = 0,
                launches = 0;        // non-empty sequences that were flushed, and their launches
  std::uint64_t graph_launches = 0;  // sequences that were launched as a graph
};

class Queue {
 public:
  Queue(int device_index, Health& health, MemoryPool& device_memory, MemoryPool& pinned_memory);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Call before an operation, with the most bytes and arrays that it stages, and its scratch().
  // Memory grows only here, between sequences: growth flushes, waits and allocates.
  void begin(std::size_t staged_bytes, std::size_t num_arrays, std::size_t scratch_bytes = 0);

  // Copies `values` to device memory and returns their address for the launches after this call.
  // The address depends only on the rounded sizes of the arrays staged before. An unchanged array
  // that is staged again soon has the same address. Never null.
  template <typename T>
  T* stage(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return reinterpret_cast<T*>(stage_bytes(values.data(), values.size_bytes()));
  }
  // Stages `bytes` bytes in the same way; the caller writes them at `host` before its next call.
  struct StagedRoom {
    std::byte* host;
    std::byte* device;
  };
  StagedRoom stage_room(std::size_t bytes);

  // Grows a range that operations keep. A larger one is at another address with undefined contents,
  // and all enqueued work has ended. Only before an operation's begin().
  void reserve(PoolRange& range, std::size_t bytes, Purpose purpose);

  // Contents are valid during the operation only; the stream's order lets all operations share it.
  std::byte* scratch() const { return scratch_.data(); }

  // Appends a launch of kLaunch(job, stream). Fill the returned job before the next call of the
  // queue. `what` names the launch in an error.
  template <auto kLaunch>
  auto& add(const char* what) {
    using Job = typename LaunchTraits<decltype(kLaunch)>::JobType;
    static_assert(std::is_trivially_copyable_v<Job> && alignof(Job) <= kRecordAlignment);
    return *::new (append(run_job<kLaunch>, what, sizeof(Job))) Job;
  }

  // Returns the job of the open sequence's last launch if that is a kLaunch, else null. If an
  // operation does that launch's work together with its own, it calls drop_last() once, which
  // removes the launch.
  template <auto kLaunch>
  const auto* last() const {
    using Job = typename LaunchTraits<decltype(kLaunch)>::JobType;
    const RecordHead* head = last_record();
    const bool is_it = head != nullptr && head->run == run_job<kLaunch>;
    return is_it ? reinterpret_cast<const Job*>(head + 1) : nullptr;
  }
  void drop_last();

  // The next flush launches one by one. Call it if the sequence differs from call to call.
  void no_graph() { graphable_ = false; }

  // Whether a kernel may begin before the previous one has ended (launch_chain.h of
  // gpu_kernels/common). Kernels of a sequence form one chain; a kernel after a copy or a library's
  // call does not overlap. For sequences that are flushed from now on.
  void overlap_launches(bool overlap) { overlaps_ = overlap; }

  // Call before an object is destroyed whose host address is in records.
  void forget_graphs() { graphs_.forget(); }

  // Launches the open sequence and returns its position. The position also ends if the sequence is
  // empty, and after an Error. A refused launch is an Error of the flush: earlier launches of its
  // sequence run, it and later ones do not, and waits for that position throw the Error too. If
  // that flush cannot throw, the next flush or wait does.
  std::uint64_t flush();
  // The last position that ended with an Error; 0: none. Results of this position and of earlier
  // ones in device memory must be computed again.
  std::uint64_t failed_position() const { return failed_; }
  std::uint64_t open_position() const { return open_; }
  bool is_empty() const { return num_records_ == 0; }

  // Flushes first if `position` is open, which may throw Error. Polls, then sleeps. Throws Error
  // only if a launch of the position was refused; returns kLost once the GPU is lost.
  device::WaitResult wait(std::uint64_t position, Deadline deadline);
  // Whether the GPU has passed a flushed position, refused or not.
  bool has_passed(std::uint64_t position) {
    return position < open_ &&
           wait_in_flight(position, Deadline::after({})) != device::WaitResult::kTimeout;
  }
  // For destructors: waits for all enqueued work, refused or not.
  device::WaitResult finish(Deadline deadline) noexcept;

  // The stream, after all enqueued work: for work without records, such as a library's.
  const Stream& stream();
  int device_index() const { return device_index_; }
  Health& health() { return health_; }
  MemoryPool& device_memory() { return device_memory_; }
  MemoryPool& pinned_memory() { return pinned_memory_; }
  const QueueStats& stats() const { return stats_; }
  // Sums the times of sequences: each counts from its flush, or from the end of the previous one,
  // to its end.
  double busy_seconds() const { return busy_seconds_; }

 private:
  static constexpr std::size_t kRecordAlignment = 16;
  // Slots of pinned memory: the host fills the next one while the GPU works.
  static constexpr std::size_t kSlots = 4;
  using Run = cudaError_t (*)(const void* job, cudaStream_t stream);

  template <auto kLaunch>
  static cudaError_t run_job(const void* job, cudaStream_t stream) {
    using Job = typename LaunchTraits<decltype(kLaunch)>::JobType;
    return kLaunch(*static_cast<const Job*>(job), stream);
  }

  struct alignas(kRecordAlignment) RecordHead {
    Run run;
    const char* what;
    std::size_t bytes;  // total size of the head and the job
    std::size_t zero;
  };
  struct Slot {
    PoolRange host;
    std::uint64_t last_position = 0;
  };
  struct Staged {
    const void* from;
    std::size_t bytes, offset;
  };
  struct InFlight {
    std::uint64_t position;
    std::size_t event;
    Deadline::Clock::time_point flushed;
  };

  void* append(Run run, const char* what, std::size_t job_bytes);
  const RecordHead* last_record() const;
  std::byte* stage_bytes(const void* from, std::size_t bytes);
  std::size_t place(std::size_t bytes);
  void open_slot();
  void grow_staging(std::size_t bytes);
  void drain();
  void launch();
  cudaError_t launch_each(bool overlap, const char** failed) const;
  void send();
  void note_refusal(std::string reason);
  void tell_refusal(std::uint64_t position);
  void end_position();
  void clear();
  void mark();
  void activate();
  device::WaitResult wait_in_flight(std::uint64_t position, Deadline deadline);

  const int device_index_;
  Health& health_;
  MemoryPool& device_memory_;
  MemoryPool& pinned_memory_;
  Stream stream_;

  std::vector<RecordHead> records_;  // as bytes: heads and jobs
  std::size_t record_bytes_ = 0, num_records_ = 0;
  std::size_t last_bytes_ = 0;  // of the last record; 0: dropped, or there is none
  bool graphable_ = true;
  bool overlaps_ = false;

  PoolRange staging_, scratch_;
  std::array<Slot, kSlots> slots_;
  std::size_t slot_ = 0;  // index of the slot that the open sequence fills
  std::size_t staged_bytes_ = 0;
  bool slot_is_open_ = false;
  std::vector<Staged> staged_;

  StepGraphs graphs_;
  std::uint64_t open_ = 1, failed_ = 0;
  struct Refusal {
    std::uint64_t position;
    std::string reason;
    bool told;
  };
  std::deque<Refusal> refusals_;  // the last ones
  std::deque<InFlight> in_flight_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::size_t> free_events_;
  Deadline::Clock::time_point last_done_{};
  double busy_seconds_ = 0;
  QueueStats stats_;
};

}  // namespace tandem::cuda
