// SPDX-License-Identifier: Apache-2.0
//
// TensorBuffer: conversion between shards and whole rows.
//
// Both directions are GatherRowsOp. A row in N shards counts as N rows of a shard's width. Unit u's
// columns are then rows N r + u; and interleaving shards that are stored one after the other
// gathers rows u * rows + r.
#include "parallel/tensor_buffer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"
#include "parallel/host_peer_copy.h"

namespace tandem::device::parallel {

Slice GatherScratch::of(int unit, std::size_t size_bytes) {
  std::unique_ptr<Buffer>& buffer = buffers_[static_cast<std::size_t>(unit)];
  if (!buffer || buffer->size_bytes() < size_bytes) {
    group_.on(unit, [&](ComputeUnit& compute) {
      if (buffer) finish(compute);
      buffer.reset();
      buffer = compute.allocate(size_bytes, MemoryKind::kDevice);
    });
  }
  return {buffer.get(), 0};
}

TensorBuffer::TensorBuffer(UnitGroup& group, GatherScratch& scratch, std::size_t size_bytes,
                           MemoryKind kind)
    : group_(group),
      scratch_(scratch),
      size_bytes_(size_bytes),
      in_host_memory_(kind == MemoryKind::kHost),
      forms_(size_bytes, Form{}),
      shared_(size_bytes) {
  const auto units = static_cast<std::size_t>(group.size());
  for (int index = 0; index < group.size(); ++index) {
    group.on(index, [&](ComputeUnit& unit) {
      if (index == 0 || !in_host_memory_) whole_.push_back(unit.allocate(size_bytes, kind));
      shards_.push_back(unit.allocate(size_bytes / units + sizeof(float), kind));
    });
  }
}

std::span<std::byte> TensorBuffer::host() {
  return in_host_memory_ ? whole_[0]->host() : std::span<std::byte>();
}

void TensorBuffer::check(std::size_t begin, std::size_t end) const {
  if (begin <= end && end <= size_bytes_) return;
  throw Error("parallel", "an operand takes bytes " + std::to_string(begin) + " to " +
                              std::to_string(end) + " of a buffer of " +
                              std::to_string(size_bytes_));
}

std::size_t TensorBuffer::shard_bytes(std::size_t row_bytes) const {
  if (row_bytes == 0 || row_bytes % (units() * sizeof(float)) != 0) {
    throw Error("parallel", "rows of " + std::to_string(row_bytes / sizeof(float)) +
                                " values cannot be divided among " + std::to_string(units()) +
                                " devices");
  }
  return row_bytes / units();
}

bool TensorBuffer::in_shards(std::size_t begin, std::size_t end, std::size_t row_bytes) const {
  check(begin, end);
  bool all = begin < end && begin % row_bytes == 0;
  forms_.visit(begin, end, [&](std::size_t, std::size_t, const Form& form) {
    all = all && form.row_bytes == row_bytes;
  });
  return all;
}

std::size_t TensorBuffer::row_bytes_at(std::size_t offset) const {
  std::size_t row_bytes = 0;
  forms_.visit(offset, offset + 1,
               [&](std::size_t, std::size_t, const Form& form) { row_bytes = form.row_bytes; });
  return row_bytes;
}

std::vector<TensorBuffer::Range> TensorBuffer::ranges(std::size_t begin, std::size_t end) const {
  std::vector<Range> found;
  forms_.visit(begin, end, [&](std::size_t from, std::size_t to, const Form& form) {
    // Shards written by different calls are one range if their rows have equal length.
    if (!found.empty() && found.back().row_bytes == form.row_bytes) {
      found.back().end = to;
    } else {
      found.push_back({from, to, form.row_bytes});
    }
  });
  return found;
}

void TensorBuffer::spare_rows_at(std::size_t at) {
  if (at >= size_bytes_) return;
  for (const Range& range : ranges(at, at + 1)) {
    if (range.row_bytes == 0 || at % range.row_bytes == 0) continue;
    const std::size_t row = at - at % range.row_bytes;
    make_whole(row, row + range.row_bytes);
  }
}

void TensorBuffer::make_whole(std::size_t begin, std::size_t end) {
  check(begin, end);
  for (const Range& range : ranges(begin, end)) {
    if (range.row_bytes == 0) continue;
    // Whole rows: shards have no parts of any.
    const Range rows = {range.begin - range.begin % range.row_bytes,
                        (range.end + range.row_bytes - 1) / range.row_bytes * range.row_bytes,
                        range.row_bytes};
    in_host_memory_ ? gather_on_host(rows) : gather_on_devices(rows);
    forms_.update(rows.begin, rows.end,
                  [](std::size_t, std::size_t, Form& form) { form = Form{}; });
  }
}

void TensorBuffer::gather_on_devices(const Range& range) {
  const std::size_t width_bytes = shard_bytes(range.row_bytes);
  const std::size_t rows = (range.end - range.begin) / range.row_bytes;
  const std::size_t part = rows * width_bytes;
  std::vector<std::int32_t> order(rows * units());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t unit = 0; unit < units(); ++unit) {
      order[row * units() + unit] = static_cast<std::int32_t>(unit * rows + row);
    }
  }
  for (int to = 0; to < group_.size(); ++to) {
    const Slice all = scratch_.of(to, part * units());
    for (int from = 0; from < group_.size(); ++from) {
      const Slice at{all.buffer, static_cast<std::size_t>(from) * part};
      const Slice sent = shard(from, range.begin);
      if (from == to) {
        group_.enqueue(to, CopyOp{part, sent, at});
      } else {
        group_.together([&] { group_.peers().copy(from, sent, to, at, part); });
      }
    }
    group_.enqueue(to, GatherRowsOp{order,
                                    static_cast<std::int64_t>(width_bytes / sizeof(float)),
                                    all,
                                    {whole_[static_cast<std::size_t>(to)].get(), range.begin}});
  }
}

// The work of the units on these rows is done.
void TensorBuffer::interleave(const Range& range) {
  const std::size_t width_bytes = shard_bytes(range.row_bytes);
  for (std::size_t unit = 0; unit < units(); ++unit) {
    const std::byte* from = shards_[unit]->host().data() + range.begin / units();
    std::byte* to = whole_[0]->host().data() + range.begin + unit * width_bytes;
    for (std::size_t row = range.begin; row < range.end; row += range.row_bytes) {
      std::memcpy(to, from, width_bytes);
      from += width_bytes;
      to += range.row_bytes;
    }
  }
}

void TensorBuffer::gather_on_host(const Range& range) {
  group_.together([&] {
    for (ComputeUnit* unit : group_.units()) finish(*unit);
  });
  interleave(range);
}

Slice TensorBuffer::read(int unit, std::size_t begin, std::size_t end) {
  check(begin, end);
  if (!in_host_memory_) return {whole_[static_cast<std::size_t>(unit)].get(), begin};
  shared_.read(group_, unit, begin, end);
  return {whole_[0].get(), begin};
}

Slice TensorBuffer::write(int unit, std::size_t begin, std::size_t end) {
  check(begin, end);
  if (!in_host_memory_) return {whole_[static_cast<std::size_t>(unit)].get(), begin};
  shared_.write(group_, unit, begin, end);
  return {whole_[0].get(), begin};
}

void TensorBuffer::mark_whole(std::size_t begin, std::size_t end) {
  check(begin, end);
  spare_rows_at(begin);
  spare_rows_at(end);
  forms_.update(begin, end, [](std::size_t, std::size_t, Form& form) { form = Form{}; });
}

void TensorBuffer::make_shards(std::size_t begin, std::size_t end, std::size_t row_bytes) {
  check(begin, end);
  shard_bytes(row_bytes);
  if (begin % row_bytes != 0 || end % row_bytes != 0) {
    throw Error("parallel", "an operand that is divided begins inside a row of " +
                                std::to_string(row_bytes) + " bytes");
  }
  const auto fits = [&](const Range& range) {
    if (range.row_bytes != 0) return range.row_bytes == row_bytes;
    return range.begin % row_bytes == 0 && range.end % row_bytes == 0;
  };
  if (!std::ranges::all_of(ranges(begin, end), fits)) make_whole(begin, end);
  for (const Range& range : ranges(begin, end)) {
    if (range.row_bytes == 0) cut_columns(range, row_bytes);
  }
}

void TensorBuffer::cut_columns(const Range& range, std::size_t row_bytes) {
  const auto rows = static_cast<std::int32_t>((range.end - range.begin) / row_bytes);
  const auto width = static_cast<std::int64_t>(shard_bytes(row_bytes) / sizeof(float));
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  for (int unit = 0; unit < group_.size(); ++unit) {
    for (std::int32_t row = 0; row < rows; ++row) {
      order[static_cast<std::size_t>(row)] = row * group_.size() + unit;
    }
    group_.enqueue(unit, GatherRowsOp{order, width, read(unit, range.begin, range.end),
                                      shard(unit, range.begin)});
  }
}

void TensorBuffer::mark_shards(std::size_t begin, std::size_t end, std::size_t row_bytes) {
  check(begin, end);
  shard_bytes(row_bytes);
  if (begin % row_bytes != 0 || end % row_bytes != 0) {
    throw Error("parallel", "a result that is divided begins inside a row of " +
                                std::to_string(row_bytes) + " bytes");
  }
  spare_rows_at(begin);
  spare_rows_at(end);
  const std::uint64_t enqueued = in_host_memory_ ? group_.enqueued() + 1 : 0;
  forms_.update(begin, end, [&](std::size_t, std::size_t, Form& form) {
    form = Form{row_bytes, enqueued};
  });
}

Slice TensorBuffer::shard(int unit, std::size_t offset) {
  return {shards_[static_cast<std::size_t>(unit)].get(), offset / units()};
}

void TensorBuffer::after_wait() {
  if (!in_host_memory_) return;
  shared_.clear_finished(group_);
  std::vector<Range> done;
  forms_.update(0, size_bytes_, [&](std::size_t begin, std::size_t end, Form& form) {
    if (form.row_bytes == 0 || form.enqueued > group_.done()) return;
    done.push_back({begin, end, form.row_bytes});
    form = Form{};
  });
  for (const Range& range : done) interleave(range);
}

}  // namespace tandem::device::parallel
