// SPDX-License-Identifier: Apache-2.0
//
// QueuedComputeUnit: every op becomes a closure over its own lists and the inner unit's buffers.
#include "support/queued_compute_unit.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "common/error.h"
#include "model/sampler/candidates.h"
#include "model/sampler/row_math.h"

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

Slice QueuedComputeUnit::inner(const Slice& slice) const {
  if (!slice) return {};
  return {&static_cast<Memory*>(slice.buffer)->inner(), slice.offset_bytes};
}

std::vector<device::CopyOp> QueuedComputeUnit::inner(std::span<const device::CopyOp> copies) const {
  std::vector<device::CopyOp> own;
  for (const device::CopyOp& copy : copies) {
    own.push_back({copy.size_bytes, inner(copy.from), inner(copy.to)});
  }
  return own;
}

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

void QueuedComputeUnit::enqueue(const device::EmbedOp& op) {
  push([this, op = op, ids = std::vector(op.ids.begin(), op.ids.end()),
        out = inner(op.out)]() mutable {
    op.ids = ids;
    op.out = out;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::RmsNormOp& op) {
  push([this, op = op, x = inner(op.x), out = inner(op.out)]() mutable {
    op.x = x;
    op.out = out;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::LinearOp& op) {
  std::vector<device::LinearTarget> targets(op.targets.begin(), op.targets.end());
  for (device::LinearTarget& target : targets) target.out = inner(target.out);
  push([this, op = op, targets = std::move(targets), x = inner(op.x), up = inner(op.up)]() mutable {
    op.targets = targets;
    op.x = x;
    op.up = up;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::RopeOp& op) {
  std::vector<device::RopeTarget> targets(op.targets.begin(), op.targets.end());
  for (device::RopeTarget& target : targets) target.x = inner(target.x);
  push([this, op = op, targets = std::move(targets),
        positions = std::vector(op.positions.begin(), op.positions.end()),
        frequencies =
            std::vector(op.inverse_frequencies.begin(), op.inverse_frequencies.end())]() mutable {
    op.targets = targets;
    op.positions = positions;
    op.inverse_frequencies = frequencies;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::SoftcapOp& op) {
  push([this, op = op, x = inner(op.x)]() mutable {
    op.x = x;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::CausalAttentionOp& op) {
  device::CausalAttentionOp own = op;
  for (Slice* slice : {&own.q, &own.k, &own.v, &own.o, &own.lse}) *slice = inner(*slice);
  push([this, own, chunks = std::vector(op.chunks.begin(), op.chunks.end())]() mutable {
    own.chunks = chunks;
    inner_.enqueue(own);
  });
}

void QueuedComputeUnit::enqueue(const device::MergeOp& op) {
  std::vector<device::MergePartial> partials(op.partials.begin(), op.partials.end());
  std::vector<std::vector<std::int32_t>> rows;
  for (device::MergePartial& partial : partials) {
    rows.emplace_back(partial.rows.begin(), partial.rows.end());
    partial.o = inner(partial.o);
    partial.lse = inner(partial.lse);
  }
  push([this, op = op, partials = std::move(partials), rows = std::move(rows),
        out = inner(op.out)]() mutable {
    for (std::size_t i = 0; i < rows.size(); ++i) partials[i].rows = rows[i];
    op.partials = partials;
    op.out = out;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::GatherRowsOp& op) {
  push([this, op = op, rows = std::vector(op.rows.begin(), op.rows.end()), x = inner(op.x),
        out = inner(op.out)]() mutable {
    op.rows = rows;
    op.x = x;
    op.out = out;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::ExpertsOp& op) {
  device::ExpertsOp own = op;
  for (Slice* slice : {&own.x, &own.router, &own.out}) *slice = inner(*slice);
  push([this, own, experts = std::vector(op.experts.begin(), op.experts.end())]() mutable {
    own.experts = experts;
    inner_.enqueue(own);
  });
}

void QueuedComputeUnit::enqueue(const device::GatedAddOp& op) {
  device::GatedAddOp own = op;
  for (Slice* slice : {&own.x, &own.gate, &own.out}) *slice = inner(*slice);
  push([this, own] { inner_.enqueue(own); });
}

void QueuedComputeUnit::enqueue(const device::CopyOp& op) {
  ++counts_.copies;
  counts_.copied_bytes += op.size_bytes;
  push([this, op = op, from = inner(op.from), to = inner(op.to)]() mutable {
    op.from = from;
    op.to = to;
    inner_.enqueue(op);
  });
}

void QueuedComputeUnit::enqueue(const device::SampleOp& op) {
  counts_.sampled_rows += op.rows.size();
  push([this, op = op, rows = std::vector(op.rows.begin(), op.rows.end()),
        logits = inner(op.logits), out = inner(op.out)] {
    const auto vocab = static_cast<std::size_t>(op.vocab);
    const std::span<float> all = device::host_floats(logits, rows.size() * vocab);
    auto* tokens = reinterpret_cast<std::int32_t*>(out.buffer->host().data() + out.offset_bytes);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const device::SampleRow& row = rows[i];
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
  });
}

namespace {

std::size_t size_of(std::span<const device::CopyOp> copies) {
  std::size_t bytes = 0;
  for (const device::CopyOp& copy : copies) bytes += copy.size_bytes;
  return bytes;
}

// What a slice of the inner unit holds.
template <typename T>
T& at(const Slice& slice) {
  return *reinterpret_cast<T*>(slice.buffer->host().data() + slice.offset_bytes);
}

}  // namespace

void QueuedComputeUnit::enqueue(const device::PostOp& op) {
  ++counts_.posts;
  counts_.posted_bytes += size_of(op.copies);
  push([this, copies = inner(op.copies), words = inner(op.ring.words), count = inner(op.ring.count),
        tag = op.tag] {
    for (const device::CopyOp& copy : copies) {
      if (at<device::RingCount>(count).abandoned == 0) inner_.enqueue(copy);
    }
    const std::uint64_t number = ++at<device::RingCount>(count).posted;
    std::atomic_ref(at<device::RingWords>(words).posted).store(number << 32 | tag);
  });
}

void QueuedComputeUnit::enqueue(const device::AwaitOp& op) {
  ++counts_.awaits;
  counts_.awaited_bytes += size_of(op.copies);
  push([this, copies = inner(op.copies), words = inner(op.ring.words),
        count = inner(op.ring.count)] {
    device::RingWords& ring = at<device::RingWords>(words);
    const std::uint32_t posted = at<device::RingCount>(count).posted;
    std::uint32_t& abandoned = at<device::RingCount>(count).abandoned;
    while (abandoned == 0 && std::atomic_ref(ring.answered).load() >> 32 != posted) {
      if (std::atomic_ref(ring.abandoned).load() != 0) abandoned = 1;
      std::this_thread::sleep_for(std::chrono::microseconds(5));
    }
    for (const device::CopyOp& copy : copies) {
      if (abandoned == 0) inner_.enqueue(copy);
    }
  });
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
