// SPDX-License-Identifier: Apache-2.0
//
// QueuedComputeUnit: every op waits in the queue with lists of its own and the inner unit's
// buffers.
#include "support/queued_compute_unit.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "common/error.h"
#include "device/op_summary.h"
#include "model/sampler/candidates.h"
#include "model/sampler/row_math.h"
#include "support/recorded_op.h"

namespace tandem::test {

using device::Buffer;
using device::MemoryKind;
using device::Slice;

// Memory of the inner unit. The host sees pinned memory as it is, device memory not at all.
class QueuedComputeUnit::Memory final : public Buffer {
 public:
  Memory(QueuedComputeUnit& unit, std::unique_ptr<Buffer> inner, MemoryKind kind)
      : unit_(unit), inner_(std::move(inner)), kind_(kind) {
    poison();
    unit_.memories_.push_back(this);
    if (kind_ == MemoryKind::kHost) return;
    guard_ = mmap(nullptr, std::max<std::size_t>(size_bytes(), 1), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (guard_ == MAP_FAILED) throw Error("test", "no address space for a device buffer");
  }
  ~Memory() override {
    std::erase(unit_.memories_, this);
    if (guard_ != nullptr) munmap(guard_, std::max<std::size_t>(size_bytes(), 1));
  }

  std::size_t size_bytes() const override { return inner_->size_bytes(); }
  std::span<std::byte> host() override {
    return kind_ == MemoryKind::kHost ? inner_->host() : std::span<std::byte>();
  }
  std::byte* address() override {
    return guard_ != nullptr ? static_cast<std::byte*>(guard_) : inner_->host().data();
  }
  Buffer& inner() { return *inner_; }
  void poison() { std::memset(inner_->host().data(), 0xff, size_bytes()); }  // NaN as floats
  bool is_device() const { return kind_ == MemoryKind::kDevice; }

 private:
  QueuedComputeUnit& unit_;
  const std::unique_ptr<Buffer> inner_;
  const MemoryKind kind_;
  void* guard_ = nullptr;
};

QueuedComputeUnit::~QueuedComputeUnit() = default;

std::unique_ptr<Buffer> QueuedComputeUnit::allocate(std::size_t size_bytes, MemoryKind kind) {
  if (options_.on_allocate) options_.on_allocate();
  if (lost_) throw DeviceError("test", "no memory on a lost device");
  return std::make_unique<Memory>(*this, inner_.allocate(size_bytes, kind), kind);
}

std::unique_ptr<device::Weight> QueuedComputeUnit::load(const device::WeightSource& source) {
  return inner_.load(source);
}

class QueuedComputeUnit::InnerOperands final : public device::OperandMap {
 public:
  Slice slice(const Slice& slice, std::size_t, device::Access) override {
    if (!slice) return {};
    return {&static_cast<Memory*>(slice.buffer)->inner(), slice.offset_bytes};
  }
  const device::Weight* weight(const device::Weight* weight) override { return weight; }
};

std::byte* QueuedComputeUnit::memory_at(const void* address, std::size_t size_bytes) const {
  const auto* at = static_cast<const std::byte*>(address);
  for (Memory* memory : memories_) {
    if (at < memory->address() || at + size_bytes > memory->address() + memory->size_bytes()) {
      continue;
    }
    return memory->inner().host().data() + (at - memory->address());
  }
  throw Error("test", "an address outside the device's memory");
}

void QueuedComputeUnit::push(std::function<void()> work) {
  queue_.push_back({last_ticket_ + 1, std::move(work)});
}

bool QueuedComputeUnit::supports(device::OpKind kind) const {
  if (kind == device::op_kind<device::SampleOp>) return options_.samples;
  if (kind == device::op_kind<device::PostOp> || kind == device::op_kind<device::AwaitOp>) {
    return options_.signals;
  }
  return inner_.supports(kind);
}

void QueuedComputeUnit::enqueue(const device::Op& op) {
  if (!supports(device::kind_of(op))) device::refuse(op);
  count(op);
  InnerOperands inner;
  push([this, own = std::make_shared<const RecordedOp>(op, inner)] { run(own->op()); });
}

void QueuedComputeUnit::count(const device::Op& op) {
  const auto bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(device::describe(op).bytes, 0));
  if (std::holds_alternative<device::CopyOp>(op)) {
    ++counts_.copies;
    counts_.copied_bytes += bytes;
  } else if (std::holds_alternative<device::PostOp>(op)) {
    ++counts_.posts;
    counts_.posted_bytes += bytes;
  } else if (std::holds_alternative<device::AwaitOp>(op)) {
    ++counts_.awaits;
    counts_.awaited_bytes += bytes;
  } else if (const auto* sample = std::get_if<device::SampleOp>(&op)) {
    counts_.sampled_rows += sample->rows.size();
  }
}

// The inner unit does not have the optional operations.
void QueuedComputeUnit::run(const device::Op& op) {
  if (const auto* sample = std::get_if<device::SampleOp>(&op)) return run(*sample);
  if (const auto* post = std::get_if<device::PostOp>(&op)) return run(*post);
  if (const auto* await = std::get_if<device::AwaitOp>(&op)) return run(*await);
  inner_.enqueue(op);
}

void QueuedComputeUnit::run(const device::SampleOp& op) {
  const auto vocab = static_cast<std::size_t>(op.vocab);
  const std::span<float> all = device::host_floats(op.logits, op.rows.size() * vocab);
  auto* tokens =
      reinterpret_cast<std::int32_t*>(op.out.buffer->host().data() + op.out.offset_bytes);
  for (std::size_t i = 0; i < op.rows.size(); ++i) {
    const device::SampleRow& row = op.rows[i];
    std::vector<float> clean(vocab);
    model::clean_logits(all.subspan(i * vocab, vocab), clean.data());
    const float best = model::best_logit(clean);
    if (best == -std::numeric_limits<float>::infinity()) {
      tokens[i] = -1;
    } else if (row.temperature == 0) {
      tokens[i] = static_cast<std::int32_t>(model::first_equal(clean, best));
    } else {
      model::Candidates candidates(clean, row.temperature, row.top_k);
      candidates.keep_top_p(row.top_p);
      tokens[i] = candidates.at_share(row.uniform);
    }
  }
}

namespace {

// What a slice of the inner unit holds.
template <typename T>
T& at(const Slice& slice) {
  return *reinterpret_cast<T*>(slice.buffer->host().data() + slice.offset_bytes);
}

}  // namespace

void QueuedComputeUnit::run(const device::PostOp& op) {
  auto& count = at<device::RingCount>(op.ring.count);
  for (const device::CopyOp& copy : op.copies) {
    if (count.abandoned == 0) inner_.enqueue(copy);
  }
  const std::uint64_t number = ++count.posted;
  std::atomic_ref(at<device::RingWords>(op.ring.words).posted).store(number << 32 | op.tag);
}

void QueuedComputeUnit::run(const device::AwaitOp& op) {
  auto& ring = at<device::RingWords>(op.ring.words);
  auto& count = at<device::RingCount>(op.ring.count);
  while (count.abandoned == 0 && std::atomic_ref(ring.answered).load() >> 32 != count.posted) {
    if (std::atomic_ref(ring.abandoned).load() != 0) count.abandoned = 1;
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  for (const device::CopyOp& copy : op.copies) {
    if (count.abandoned == 0) inner_.enqueue(copy);
  }
}

device::Ticket QueuedComputeUnit::record() { return ++last_ticket_; }

void QueuedComputeUnit::lose() {
  lost_ = true;
  queue_.clear();
  for (Memory* memory : memories_) {
    if (memory->is_device()) memory->poison();
  }
}

bool QueuedComputeUnit::drive(device::Ticket ticket) {
  while (!lost_ && !queue_.empty() && queue_.front().ticket <= ticket) {
    if (counts_.ops_done >= options_.lose_after || (options_.dies && options_.dies())) {
      lose();
      break;
    }
    ++counts_.ops_done;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    work.run();
  }
  return !lost_;
}

device::WaitResult QueuedComputeUnit::wait(device::Ticket ticket, Deadline) {
  if (ticket == 0 || ticket > last_ticket_) throw Error("test", "no such ticket");
  if (!queue_.empty() && queue_.front().ticket <= ticket) ++counts_.waits;
  if (!drive(ticket)) throw DeviceError("test", "the device fell off the bus");
  return device::WaitResult::kDone;
}

}  // namespace tandem::test
