// SPDX-License-Identifier: Apache-2.0
//
// TensorBuffer: memory of a tensor-parallel group, of which every range is whole or in shards.
//
// A whole range: every unit has it all; of a host buffer there is one memory, which the host and
// attention units use too. A range in shards: rows of `row_bytes`, of which unit u of N has columns
// [u, u + 1) / N, as rows of row_bytes / N in a memory of its own (of the host, where the buffer
// is), at the N-th part of the offset. Whole rows in shards are gathered when somebody needs them
// whole: on the device, or, of a host buffer, by the host at the group's wait(), which is when the
// host may look. Columns of whole rows are cut out into the shards each time they are read: host
// memory may have been written by others.
// Threads: the group's submitter. Errors: Error on ranges outside the buffer, or rows that do not
// divide. Cost: 1 + 1/N times the bytes on every unit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parallel/unit_group.h"

namespace tandem::device::parallel {

// Device memory of every unit for gathering, shared by all buffers of a group.
class GatherScratch {
 public:
  explicit GatherScratch(UnitGroup& group) : group_(group), buffers_(group.units().size()) {}
  Slice of(int unit, std::size_t size_bytes);

 private:
  UnitGroup& group_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // [units]
};

class TensorBuffer : public Buffer {
 public:
  TensorBuffer(UnitGroup& group, GatherScratch& scratch, std::size_t size_bytes, MemoryKind kind);

  std::size_t size_bytes() const override { return size_bytes_; }
  std::span<std::byte> host() override;
  std::byte* address() override { return whole_[0]->address(); }

  const UnitGroup& group() const { return group_; }
  bool in_host_memory() const { return in_host_memory_; }
  // Who writes whole ranges: all units, or of a host buffer the first.
  UnitMask writers() const { return in_host_memory_ ? mask_of(0) : group_.all(); }

  // All of it lies in shards of such rows.
  bool in_shards(std::size_t begin, std::size_t end, std::size_t row_bytes) const;

  std::size_t row_bytes_at(std::size_t offset) const;  // of shards; 0: whole

  // Makes [begin, end) whole; then read(), write() say where a unit has it. Both are for one
  // operation of that unit: they put uses of shared memory in order.
  void make_whole(std::size_t begin, std::size_t end);
  Slice read(int unit, std::size_t begin, std::size_t end);
  Slice write(int unit, std::size_t begin, std::size_t end);
  // Whole from now on, whatever it was; to be called before write() by every writer.
  void mark_whole(std::size_t begin, std::size_t end);

  // Puts the columns of [begin, end) into the shards, where they are not there.
  void make_shards(std::size_t begin, std::size_t end, std::size_t row_bytes);
  // In shards from now on, whatever it was.
  void mark_shards(std::size_t begin, std::size_t end, std::size_t row_bytes);
  Slice shard(int unit, std::size_t offset);

  // After a wait: the host sees what it may.
  void after_wait();

 private:
  struct Form {
    std::size_t row_bytes = 0;   // 0: whole
    std::uint64_t enqueued = 0;  // of a host buffer: which call of the group wrote the shards
    bool operator==(const Form&) const = default;
  };
  struct Range {
    std::size_t begin, end, row_bytes;
  };

  std::size_t units() const { return shards_.size(); }
  void check(std::size_t begin, std::size_t end) const;
  std::size_t shard_bytes(std::size_t row_bytes) const;
  // Rows that a range cuts in two are whole from now on.
  void spare_rows_at(std::size_t at);
  std::vector<Range> ranges(std::size_t begin, std::size_t end) const;
  void gather_on_devices(const Range& range);
  void gather_on_host(const Range& range);
  void interleave(const Range& range);
  void cut_columns(const Range& range, std::size_t row_bytes);

  UnitGroup& group_;
  GatherScratch& scratch_;
  const std::size_t size_bytes_;
  const bool in_host_memory_;
  std::vector<std::unique_ptr<Buffer>> whole_;   // [units]; of a host buffer one
  std::vector<std::unique_ptr<Buffer>> shards_;  // [units]
  RangeMap<Form> forms_;
  SharedMemory shared_;  // uses of a host buffer
};

}  // namespace tandem::device::parallel
