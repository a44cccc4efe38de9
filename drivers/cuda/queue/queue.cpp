// SPDX-License-Identifier: Apache-2.0
//
// The open sequence, its staged arrays, and the positions in flight.
#include "cuda/queue/queue.h"

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "common/launch_chain.h"

namespace tandem::cuda {

using device::WaitResult;

namespace {

constexpr std::size_t kFirstStaging = std::size_t{1} << 20;
constexpr std::size_t kMostStaging = std::size_t{32} << 20;  // then a step is several sequences
constexpr std::size_t kPlaceAlignment = 64;
constexpr std::size_t kMostInFlight = 64;
constexpr std::size_t kRemembered = 64;      // staged arrays that may be staged again
constexpr std::size_t kMostRefusals = 1024;  // far more than positions with waiters
constexpr std::size_t kReserveStep = std::size_t{1} << 20;
// A queue without progress for this long has hung.
constexpr std::chrono::minutes kPatience{10};
constexpr std::chrono::seconds kDrainTimeout{2};

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// Room for arrays of about this size.
std::size_t bucket(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  return round_up(bytes, std::max(kPlaceAlignment, std::bit_floor(bytes) / 4));
}

}  // namespace

Queue::Queue(int device_index, Health& health, MemoryPool& device_memory, MemoryPool& pinned_memory)
    : device_index_(device_index),
      health_(health),
      device_memory_(device_memory),
      pinned_memory_(pinned_memory),
      graphs_(health, {}) {}

Queue::~Queue() {
  if (wait_in_flight(open_, Deadline::after(kDrainTimeout)) == WaitResult::kTimeout) {
    health_.lose("work was still running when its units were given up");
  }
}

void Queue::activate() { health_.check(cudaSetDevice(device_index_), "choosing the device"); }

void Queue::begin(std::size_t staged_bytes, std::size_t num_arrays, std::size_t scratch_bytes) {
  health_.require();
  reserve(scratch_, scratch_bytes, Purpose::kWorkspace);
  const std::size_t most = staged_bytes + staged_bytes / 4 + (num_arrays + 1) * kPlaceAlignment;
  if (staged_bytes_ + most > staging_.size_bytes()) {
    if (staged_bytes_ + most > kMostStaging && most <= staging_.size_bytes()) {
      flush();
    } else {
      grow_staging(staged_bytes_ + most);
    }
  }
}

void Queue::grow_staging(std::size_t bytes) {
  const std::size_t size = std::max(kFirstStaging, std::bit_ceil(bytes));
  flush();
  drain();
  activate();
  staging_.reset();
  for (Slot& slot : slots_) slot.host.reset();
  PoolRange staging(device_memory_, size, Purpose::kStaging);
  for (Slot& slot : slots_) slot.host = PoolRange(pinned_memory_, size, Purpose::kStaging);
  staging_ = std::move(staging);  // the allocation has succeeded
}

void Queue::reserve(PoolRange& range, std::size_t bytes, Purpose purpose) {
  if (bytes <= range.size_bytes()) return;
  flush();
  drain();
  activate();
  range.reset();
  range = PoolRange(device_memory_, round_up(bytes, kReserveStep), purpose);
}

void Queue::drain() {
  if (wait_in_flight(open_, Deadline::after(kPatience)) == WaitResult::kTimeout) {
    health_.lose("it has not finished its work within 10 minutes");
  }
  health_.require();
}

void Queue::open_slot() {
  if (slot_is_open_) return;
  slot_ = (slot_ + 1) % kSlots;
  const WaitResult result = wait_in_flight(slots_[slot_].last_position, Deadline::after(kPatience));
  if (result == WaitResult::kTimeout) health_.lose("it has made no progress for 10 minutes");
  health_.require();
  slot_is_open_ = true;
}

std::size_t Queue::place(std::size_t bytes) {
  open_slot();
  const std::size_t offset = staged_bytes_;
  TANDEM_CHECK_OP(offset + bucket(bytes), <=, staging_.size_bytes());
  staged_bytes_ += bucket(bytes);
  return offset;
}

std::byte* Queue::stage_bytes(const void* from, std::size_t bytes) {
  const std::size_t first = staged_.size() - std::min(staged_.size(), kRemembered);
  for (std::size_t i = first; i < staged_.size(); ++i) {
    const Staged& before = staged_[i];
    if (before.from == from && before.bytes == bytes &&
        std::memcmp(slots_[slot_].host.data() + before.offset, from, bytes) == 0) {
      return staging_.data() + before.offset;
    }
  }
  const std::size_t offset = place(bytes);
  if (bytes > 0) std::memcpy(slots_[slot_].host.data() + offset, from, bytes);
  staged_.push_back({from, bytes, offset});
  return staging_.data() + offset;
}

Queue::StagedRoom Queue::stage_room(std::size_t bytes) {
  const std::size_t offset = place(bytes);
  return {slots_[slot_].host.data() + offset, staging_.data() + offset};
}

void* Queue::append(Run run, const char* what, std::size_t job_bytes) {
  const std::size_t bytes = sizeof(RecordHead) + round_up(job_bytes, kRecordAlignment);
  const std::size_t heads = (record_bytes_ + bytes) / sizeof(RecordHead) + 1;
  if (heads > records_.size()) records_.resize(2 * heads);
  std::byte* at = reinterpret_cast<std::byte*>(records_.data()) + record_bytes_;
  std::memset(at, 0, bytes);
  const RecordHead head{run, what, bytes, 0};
  std::memcpy(at, &head, sizeof(head));
  record_bytes_ += bytes;
  last_bytes_ = bytes;
  ++num_records_;
  return at + sizeof(RecordHead);
}

const Queue::RecordHead* Queue::last_record() const {
  if (last_bytes_ == 0) return nullptr;
  const auto* end = reinterpret_cast<const std::byte*>(records_.data()) + record_bytes_;
  return reinterpret_cast<const RecordHead*>(end - last_bytes_);
}

void Queue::drop_last() {
  TANDEM_CHECK(last_bytes_ > 0);
  record_bytes_ -= last_bytes_;
  last_bytes_ = 0;
  --num_records_;
}

cudaError_t Queue::launch_each(bool overlap, const char** failed) const {
  const gpu_kernels::ChainedLaunches chain(overlap);
  const auto* at = reinterpret_cast<const std::byte*>(records_.data());
  for (const std::byte* end = at + record_bytes_; at < end;) {
    const auto* head = reinterpret_cast<const RecordHead*>(at);
    const unsigned before = gpu_kernels::launch_chain.launches;
    const cudaError_t error = head->run(at + sizeof(RecordHead), stream_.get());
    if (gpu_kernels::launch_chain.launches == before) gpu_kernels::other_work();
    if (error != cudaSuccess) {
      *failed = head->what;
      return error;
    }
    at += head->bytes;
  }
  return cudaSuccess;
}

void Queue::launch() {
  activate();
  if (staged_bytes_ > 0) {
    health_.check(cudaMemcpyAsync(staging_.data(), slots_[slot_].host.data(), staged_bytes_,
                                  cudaMemcpyHostToDevice, stream_.get()),
                  "copying the arrays of operations");
  }
  const char* failed = "";
  const auto each = [&](bool overlap) { return launch_each(overlap, &failed); };
  const std::span records(reinterpret_cast<const std::byte*>(records_.data()), record_bytes_);
  const cudaGraphExec_t graph =
      graphable_ ? graphs_.find(records, num_records_, open_, stream_.get(), each, overlaps_)
                 : nullptr;
  if (graph != nullptr) {
    health_.check(cudaGraphLaunch(graph, stream_.get()), "launching a graph");
    ++stats_.graph_launches;
  } else {
    try {
      const cudaError_t error = each(overlaps_);
      health_.check(error, failed);
    } catch (const DeviceError& error) {  // of a library, which knows no health
      health_.lose(error.what());
      throw;
    }
  }
  ++stats_.flushes;
  stats_.launches += num_records_;
}

std::uint64_t Queue::flush() {
  tell_refusal(0);
  try {
    send();
  } catch (const DeviceError&) {
    throw;
  } catch (const Error&) {
    if (!refusals_.empty()) refusals_.back().told = true;
    throw;
  }
  return open_ - 1;
}

void Queue::send() {
  health_.require();
  if (num_records_ > 0) {
    try {
      launch();
    } catch (const DeviceError&) {
      clear();
      throw;
    } catch (const std::exception& error) {
      note_refusal(error.what());
      end_position();  // some of it runs, and its arrays are being copied
      throw;
    }
  }
  end_position();
}

void Queue::note_refusal(std::string reason) {
  failed_ = open_;
  refusals_.push_back({open_, std::move(reason), false});
  if (refusals_.size() > kMostRefusals) refusals_.pop_front();
}

// Throws the refusal of `position`, which has ended; 0: any that was not thrown yet. Each is thrown
// once; a wait for exactly that position always throws it.
void Queue::tell_refusal(std::uint64_t position) {
  const auto concerns = [&](const Refusal& refusal) {
    return refusal.position == position ||
           (!refusal.told && (position == 0 || refusal.position < position));
  };
  const auto found = std::ranges::find_if(refusals_, concerns);
  if (found == refusals_.end()) return;
  found->told = true;
  throw Error("cuda", "a launch before this wait was refused: " + found->reason);
}

void Queue::end_position() {
  if (slot_is_open_) slots_[slot_].last_position = open_;
  clear();
  mark();
}

void Queue::clear() {
  record_bytes_ = num_records_ = last_bytes_ = 0;
  graphable_ = true;
  staged_bytes_ = 0;
  staged_.clear();
  slot_is_open_ = false;
}

void Queue::mark() {
  activate();
  if (in_flight_.size() >= kMostInFlight) {
    wait_in_flight(in_flight_.front().position, Deadline::after(kPatience));
  }
  if (free_events_.empty()) {
    events_.push_back(std::make_unique<Event>());
    free_events_.push_back(events_.size() - 1);
  }
  const std::size_t event = free_events_.back();
  health_.check(events_[event]->try_record(stream_), "recording an event");
  free_events_.pop_back();
  in_flight_.push_back({open_++, event, Deadline::Clock::now()});
}

WaitResult Queue::wait(std::uint64_t position, Deadline deadline) {
  try {
    if (!health_.lost() && position >= open_) flush();
  } catch (const DeviceError&) {
    return WaitResult::kLost;
  }
  const WaitResult result = wait_in_flight(position, deadline);
  if (result == WaitResult::kDone) tell_refusal(position);
  return result;
}

WaitResult Queue::finish(Deadline deadline) noexcept {
  const std::uint64_t last = open_;
  try {
    send();
  } catch (...) {  // the caller is being destroyed; others get the error
  }
  return wait_in_flight(last, deadline);
}

WaitResult Queue::wait_in_flight(std::uint64_t position, Deadline deadline) {
  if (health_.lost()) return WaitResult::kLost;
  // One stream: when a position has ended, all before it have.
  const auto behind = std::ranges::upper_bound(in_flight_, position, {}, &InFlight::position);
  if (behind == in_flight_.begin()) return WaitResult::kDone;
  const auto last = std::prev(behind);
  const cudaError_t state = events_[last->event]->poll(deadline);
  if (state == cudaErrorNotReady) return WaitResult::kTimeout;
  if (!health_.note(state, "waiting for the device")) return WaitResult::kLost;
  const auto now = Deadline::Clock::now();
  while (!in_flight_.empty() && in_flight_.front().position <= position) {
    const InFlight& done = in_flight_.front();
    const auto began = std::max(done.flushed, last_done_);
    if (now > began) busy_seconds_ += std::chrono::duration<double>(now - began).count();
    last_done_ = std::max(last_done_, now);
    free_events_.push_back(done.event);
    graphs_.passed(done.position);
    in_flight_.pop_front();
  }
  return WaitResult::kDone;
}

const Stream& Queue::stream() {
  flush();
  return stream_;
}

}  // namespace tandem::cuda
