// SPDX-License-Identifier: Apache-2.0
//
// TensorBuffer: memory of a tensor-parallel group. Every range of it is whole or in shards.
//
// Whole: every unit has all of the range; a host buffer has one memory, which the host and
// attention units use too. In shards: unit u of N has columns [u, u + 1) / N of rows of
// `row_bytes`. It stores them as rows of row_bytes / N, at 1/N of the offset, in its own memory (in
// host memory for a host buffer). Rows in shards are gathered when they are needed whole: on the
// device, or for a host buffer at the wait() of the group, after which the host may read. Columns
// of whole rows are copied to the shards at every use, because others may have written host memory.
// Threads: the submitter of the group. Errors: Error on ranges outside the buffer, or rows that do
// not divide. Cost: 1 + 1/N times the bytes on every unit.
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
  // The units that write whole ranges: all, or the first one for a host buffer.
  UnitMask writers() const { return in_host_memory_ ? mask_of(0) : group_.all(); }

  // Whether all of the range is in shards of rows of this size.
  bool in_shards(std::size_t begin, std::size_t end, std::size_t row_bytes) const;

  // the size of a row that is in shards; 0: the range is whole
  std::size_t row_bytes_at(std::size_t offset) const;

  // Makes [begin, end) whole. read() and write() then return the place on a unit, for one operation
  // of that unit; they order the uses of shared memory.
  void make_whole(std::size_t begin, std::size_t end);
  Slice read(int unit, std::size_t begin, std::size_t end);
  Slice write(int unit, std::size_t begin, std::size_t end);
  // Declares [begin, end) whole, without a copy. Call it before write() of any writer.
  void mark_whole(std::size_t begin, std::size_t end);

  // Copies the columns of [begin, end) into the shards that do not have them.
  void make_shards(std::size_t begin, std::size_t end, std::size_t row_bytes);
  // Declares [begin, end) to be in shards, without a copy.
  void mark_shards(std::size_t begin, std::size_t end, std::size_t row_bytes);
  Slice shard(int unit, std::size_t offset);

  // Call after a wait: makes finished results in host memory visible to the host.
  void after_wait();

 private:
  struct Form {
    std::size_t row_bytes = 0;  // 0: whole
    // host buffers only: the number of the group's call that wrote the shards
    std::uint64_t enqueued = 0;
    bool operator==(const Form&) const = default;
  };
  struct Range {
    std::size_t begin, end, row_bytes;
  };

  std::size_t units() const { return shards_.size(); }
  void check(std::size_t begin, std::size_t end) const;
  std::size_t shard_bytes(std::size_t row_bytes) const;
  // If a range's border at byte `at` divides a row in shards, makes this row whole.
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
  std::vector<std::unique_ptr<Buffer>> whole_;   // [units]; a host buffer has one
  std::vector<std::unique_ptr<Buffer>> shards_;  // [units]
  RangeMap<Form> forms_;
  SharedMemory shared_;  // records the uses of a host buffer
};

}  // namespace tandem::device::parallel
