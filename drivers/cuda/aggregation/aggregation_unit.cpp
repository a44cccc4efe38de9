// SPDX-License-Identifier: Apache-2.0
//
// Pieces of sources alternate between two slots; what a call allocates stays for the next one.
#include "cuda/aggregation/aggregation_unit.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"
#include "sparse/bitmap_entries.h"
#include "sparse/scatter_add.h"

namespace tandem::cuda {
namespace {

using device::AggregationCapacity;
using device::AggregationResult;
using device::AggregationShape;
using device::AggregationSource;

constexpr std::size_t kPieceEntries = 1 << 20;
constexpr std::size_t kMaxValueBytes = 8;
constexpr std::size_t kPieceBytes = kPieceEntries * (4 + kMaxValueBytes);
constexpr std::uint64_t kMaxPositions = (std::uint64_t{1} << 32) - 1;

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Offsets in the unit's one block of device memory.
struct Layout {
  explicit Layout(const AggregationShape& shape, std::uint64_t max_union)
      : value_bytes(dtype_block_bytes(shape.type)) {
    present = round_up(shape.num_positions * value_bytes);
    tiles = present + round_up((shape.num_positions + 31) / 32 * 4);
    indices = tiles + round_up(gpu_kernels::take_entries_workspace_bytes(shape.num_positions));
    values = indices + round_up(max_union * 4);
    total = values + round_up(max_union * value_bytes);
  }
  std::size_t value_bytes;
  std::uint64_t present, tiles, indices, values, total;  // the sums begin at 0
};

class CudaAggregationUnit final : public device::AggregationUnit {
 public:
  CudaAggregationUnit(int device_index, const device::DeviceInfo& info)
      : device_index_(device_index), info_(info) {
    for (Slot& slot : slots_) {
      slot.host.reserve(kPieceBytes);
      slot.device.reserve(kPieceBytes);
    }
    counts_.reserve(2 * sizeof(std::uint32_t));
    device_counts_.reserve(2 * sizeof(std::uint32_t));
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    usable_bytes_ = free_bytes / 10 * 9;
  }

  ~CudaAggregationUnit() override {
    cudaSetDevice(device_index_);
    if (lost_) leak();
  }

  std::string name() const override { return info_.id; }

  AggregationCapacity capacity() const override {
    AggregationCapacity capacity;
    capacity.max_positions = std::min(kMaxPositions, usable_bytes_ / (2 * kMaxValueBytes + 5));
    capacity.max_entries = ~std::uint64_t{0} / 16;  // they pass through in pieces
    capacity.memory_bandwidth_bytes_per_s = info_.memory_bandwidth_bytes_per_s;
    capacity.link_bandwidth_bytes_per_s = info_.link_bandwidth_bytes_per_s;
    capacity.link_latency_us = info_.link_latency_us;
    return capacity;
  }

  std::string refusal(const AggregationShape& shape) const override {
    if (shape.type != DType::kF32 && shape.type != DType::kU64) {
      return "values of type " + std::string(dtype_name(shape.type)) + ": it adds up f32 and u64";
    }
    if (shape.num_positions > kMaxPositions) return "more than 2^32 - 1 positions";
    const Layout layout(shape, max_union(shape));
    if (layout.total > usable_bytes_) {
      return std::to_string(layout.total) + " bytes of device memory for " +
             std::to_string(shape.num_positions) + " positions; " + std::to_string(usable_bytes_) +
             " are free";
    }
    return "";
  }

  // Its own memory is read in place.
  bool accepts(const Placement& placement) const override {
    return placement.on_host() ||
           (placement.memory != tandem::Memory::kHost && placement.device == info_.id);
  }

  AggregationResult aggregate(const AggregationShape& shape,
                              std::span<const AggregationSource> sources,
                              Deadline deadline) override {
    const std::string reason = refusal(shape);
    if (!reason.empty()) throw Error("cuda", info_.id + " cannot do this aggregation: " + reason);
    check_placements(*this, sources);
    check_sources(shape, sources);
    if (lost_) throw DeviceError("cuda", info_.id + " was lost in an earlier aggregation");
    check(cudaSetDevice(device_index_), "choosing the device");
    const Layout layout(shape, max_union(shape));
    // Memory is allocated only while nothing runs: if the allocation fails, no work is lost.
    sums_.reserve(layout.total);
    run([&] { add_up(shape, layout, sources, deadline); });
    if (counts_.as<std::uint32_t>()[0] != 0) {
      throw Error("cuda", "positions of a source do not ascend below the partition's end");
    }
    const std::size_t count = counts_.as<std::uint32_t>()[1];
    positions_.reserve(count * 4);
    values_.reserve(count * layout.value_bytes);
    run([&] { fetch(layout, count, deadline); });
    return {
        {positions_.as<std::uint32_t>(), count}, {values_.data(), count * layout.value_bytes}, 0};
  }

 private:
  // A piece of a source in flight: the host fills it after the queue has passed `free`.
  struct Slot {
    PinnedBuffer host;
    DeviceBuffer device;
    Event free;
    bool used = false;
  };

  static std::uint64_t max_union(const AggregationShape& shape) {
    return std::min(shape.num_positions, shape.num_entries);
  }

  static void check_sources(const AggregationShape& shape,
                            std::span<const AggregationSource> sources) {
    std::uint64_t num_entries = 0;
    for (const AggregationSource& source : sources) {
      num_entries += source.positions.size();
      // The kernel checks positions on the device.
      const bool readable = source.placement.on_host() && !source.positions.empty();
      if (readable && source.positions.back() >= shape.num_positions) {
        throw Error("cuda", "positions of a source are not below the partition's end");
      }
      if (source.values.size() != source.positions.size() * dtype_block_bytes(shape.type)) {
        throw Error("cuda", "a source has unequal numbers of values and positions");
      }
    }
    if (sources.size() != shape.num_sources || num_entries != shape.num_entries) {
      throw Error("cuda", "the number of sources or of their entries differs from the shape's");
    }
  }

  void wait(Event& event, Deadline deadline, const char* what) {
    if (!event.wait(deadline)) {
      throw DeviceError("cuda", info_.id + " has not finished by the deadline: " + what);
    }
  }

  // work(): starts work on the stream and waits for its end.
  template <typename Work>
  void run(Work&& work) {
    lost_ = true;  // until it has succeeded
    work();
    lost_ = false;
  }

  // Writes the dense sums, then their entries, and copies the counts to the host.
  void add_up(const AggregationShape& shape, const Layout& layout,
              std::span<const AggregationSource> sources, Deadline deadline) {
    check(cudaMemsetAsync(sums_.data() + layout.present, 0, (shape.num_positions + 31) / 32 * 4,
                          stream_.get()),
          "clearing the bitmap");
    check(cudaMemsetAsync(device_counts_.data(), 0, 2 * sizeof(std::uint32_t), stream_.get()),
          "clearing the counts");
    for (const AggregationSource& source : sources) {
      if (source.placement.on_host()) {
        add(shape, layout, source, deadline);
      } else {
        add_in_place(shape, layout, source);
      }
    }
    compact(shape, layout);
    done_.record(stream_);
    wait(done_, deadline, "compacting");
  }

  void add(const AggregationShape& shape, const Layout& layout, const AggregationSource& source,
           Deadline deadline) {
    for (std::size_t begin = 0; begin < source.positions.size(); begin += kPieceEntries) {
      const std::size_t count = std::min(kPieceEntries, source.positions.size() - begin);
      Slot& slot = slots_[next_slot_++ % 2];
      if (slot.used) wait(slot.free, deadline, "adding up");
      std::memcpy(slot.host.data(), source.positions.data() + begin, count * 4);
      // values come after a full piece of positions, which keeps them aligned
      constexpr std::size_t kValuesAt = kPieceEntries * 4;
      const std::size_t bytes = count * layout.value_bytes;
      std::memcpy(slot.host.data() + kValuesAt, source.values.data() + begin * layout.value_bytes,
                  bytes);
      copy(slot.device.data(), slot.host.data(), count * 4, cudaMemcpyHostToDevice);
      copy(slot.device.data() + kValuesAt, slot.host.data() + kValuesAt, bytes,
           cudaMemcpyHostToDevice);
      scatter(
          shape, layout,
          {{slot.device.as<std::uint32_t>(), count}, {slot.device.data() + kValuesAt, bytes}, {}});
      slot.free.record(stream_);
      slot.used = true;
    }
  }

  // A source in memory of this GPU, which its queue makes ready.
  void add_in_place(const AggregationShape& shape, const Layout& layout,
                    const AggregationSource& source) {
    if (source.placement.queue != nullptr) {
      const auto queue = static_cast<cudaStream_t>(source.placement.queue);
      check(cudaEventRecord(ready_.get(), queue), "waiting for a source");
      check(cudaStreamWaitEvent(stream_.get(), ready_.get(), 0), "waiting for a source");
    }
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // a kernel counts in 32 bits
    for (std::size_t begin = 0; begin < source.positions.size(); begin += kMostAtOnce) {
      const std::size_t count = std::min(kMostAtOnce, source.positions.size() - begin);
      scatter(shape, layout,
              {source.positions.subspan(begin, count),
               source.values.subspan(begin * layout.value_bytes, count * layout.value_bytes),
               {}});
    }
  }

  // source: in device memory.
  void scatter(const AggregationShape& shape, const Layout& layout,
               const AggregationSource& source) {
    gpu_kernels::ScatterAdd job;
    job.positions = source.positions.data();
    job.values = source.values.data();
    job.type =
        shape.type == DType::kF32 ? gpu_kernels::ValueType::kF32 : gpu_kernels::ValueType::kU64;
    job.num_entries = static_cast<std::uint32_t>(source.positions.size());
    job.maximum = shape.maximum;
    job.num_positions = shape.num_positions;
    job.dense = sums_.data();
    job.present = reinterpret_cast<std::uint32_t*>(sums_.data() + layout.present);
    job.faults = device_counts_.as<std::uint32_t>();
    check(gpu_kernels::scatter_add(job, stream_.get()), "adding up a source");
  }

  void compact(const AggregationShape& shape, const Layout& layout) {
    gpu_kernels::TakeEntries job;
    job.bitmap = reinterpret_cast<std::uint32_t*>(sums_.data() + layout.present);
    job.num_positions = shape.num_positions;
    job.values = sums_.data();
    job.type =
        shape.type == DType::kF32 ? gpu_kernels::ValueType::kF32 : gpu_kernels::ValueType::kU64;
    job.max_entries = static_cast<std::uint32_t>(max_union(shape));
    job.indices = reinterpret_cast<std::uint32_t*>(sums_.data() + layout.indices);
    job.values_out = sums_.data() + layout.values;
    job.num_entries = device_counts_.as<std::uint32_t>() + 1;
    job.workspace = sums_.data() + layout.tiles;
    check(gpu_kernels::take_entries(job, stream_.get()), "compacting the sums");
    copy(counts_.data(), device_counts_.data(), 2 * sizeof(std::uint32_t), cudaMemcpyDeviceToHost);
  }

  void fetch(const Layout& layout, std::size_t count, Deadline deadline) {
    copy(positions_.data(), sums_.data() + layout.indices, count * 4, cudaMemcpyDeviceToHost);
    copy(values_.data(), sums_.data() + layout.values, count * layout.value_bytes,
         cudaMemcpyDeviceToHost);
    done_.record(stream_);
    wait(done_, deadline, "copying the result");
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying");
  }

  void leak() {
    for (Slot& slot : slots_) {
      slot.host.leak();
      slot.device.leak();
    }
    sums_.leak();
    device_counts_.leak();
    counts_.leak();
    positions_.leak();
    values_.leak();
  }

  int device_index_;
  device::DeviceInfo info_;
  std::uint64_t usable_bytes_ = 0;
  bool lost_ = false;
  std::size_t next_slot_ = 0;
  Stream stream_;
  Event done_, ready_;
  Slot slots_[2];
  DeviceBuffer sums_, device_counts_;  // counts: faults, entries of the union
  PinnedBuffer counts_, positions_, values_;
};

}  // namespace

std::unique_ptr<device::AggregationUnit> make_aggregation_unit(int device_index,
                                                               const device::DeviceInfo& info) {
  check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<CudaAggregationUnit>(device_index, info);
}

}  // namespace tandem::cuda
