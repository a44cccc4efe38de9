// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitAttention: cuts rows into columns and assembles rows from columns.
#include "parallel/tensor_split_attention.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"
#include "parallel/tensor_split_unit.h"

namespace tandem::device::parallel {
namespace {

std::vector<AttentionPart> parts_of(const AttentionGeometry& geometry,
                                    std::vector<std::unique_ptr<AttentionUnit>> units) {
  const auto num_parts = static_cast<int>(units.size());
  std::vector<AttentionPart> parts;
  for (auto& unit : units) {
    const auto index = static_cast<int>(parts.size());
    parts.push_back({std::move(unit), head_slice(geometry, index, num_parts)});
  }
  return parts;
}

// Columns [part * width, + width) of rows of num_parts * width values.
void take_columns(std::span<const float> rows, std::size_t part, std::size_t num_parts,
                  std::size_t width, std::vector<float>& to) {
  to.resize(rows.size() / num_parts);
  const std::size_t num_rows = width == 0 ? 0 : to.size() / width;
  for (std::size_t row = 0; row < num_rows; ++row) {
    std::ranges::copy(rows.subspan((row * num_parts + part) * width, width),
                      to.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
}

void put_columns(const std::vector<float>& from, std::size_t part, std::size_t num_parts,
                 std::size_t width, std::span<const AttentionSequence> sequences,
                 std::span<float> rows) {
  for (const AttentionSequence& sequence : sequences) {
    for (std::int32_t i = 0; i < sequence.num_q; ++i) {
      const auto row = static_cast<std::size_t>(sequence.q_begin + i);
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                  rows.begin() + static_cast<std::ptrdiff_t>((row * num_parts + part) * width));
    }
  }
}

}  // namespace

PageSlice head_slice(const AttentionGeometry& geometry, int part, int num_parts) {
  if (num_parts < 1 || geometry.kv_heads % num_parts != 0) {
    throw Error("parallel", std::to_string(geometry.kv_heads) +
                                " key and value heads cannot be divided among " +
                                std::to_string(num_parts) +
                                " devices; use another number of them, or --split layers");
  }
  const int heads = geometry.kv_heads / num_parts;
  return {0, geometry.num_layers, part * heads, heads};
}

TensorSplitAttention::TensorSplitAttention(const AttentionGeometry& geometry,
                                           std::vector<std::unique_ptr<AttentionUnit>> units,
                                           std::shared_ptr<AddressBook> book)
    : CompositeAttention(geometry, parts_of(geometry, std::move(units)), std::move(book)) {}

bool TensorSplitAttention::works_in_queue_of(const ComputeUnit& compute) const {
  if (book() == nullptr || book()->owner != &compute) return false;
  return parts_work_in_queues_of(static_cast<TensorSplitUnit&>(*book()->owner));
}

Ticket TensorSplitAttention::submit(const AttentionBatch& batch, AttentionPartial out) {
  check(batch, out);
  Flight flight;
  const bool queued = book() != nullptr && book()->owner != nullptr &&
                      works_in_queue_of(*book()->owner) && book()->find(batch.q.data());
  try {
    or_lost([&] {
      if (queued) {
        submit_shards(flight, batch, out);
      } else {
        submit_columns(flight, batch, out);
      }
    });
  } catch (...) {
    abandon(std::move(flight));
    throw;
  }
  return launch(std::move(flight));
}

TensorSplitAttention::Staged& TensorSplitAttention::free_columns() {
  for (const auto& staged : staged_) {
    if (!staged->in_use) return *staged;
  }
  staged_.push_back(std::make_unique<Staged>());
  staged_.back()->parts.resize(static_cast<std::size_t>(num_parts()));
  return *staged_.back();
}

void TensorSplitAttention::submit_columns(Flight& flight, const AttentionBatch& batch,
                                          AttentionPartial out) {
  Staged& staged = free_columns();
  const auto num = static_cast<std::size_t>(num_parts());
  const auto heads = static_cast<std::size_t>(geometry().q_heads) / num;
  const auto dim = static_cast<std::size_t>(geometry().head_dim);
  const std::size_t kv_width = static_cast<std::size_t>(geometry().kv_heads) / num * dim;
  flight.on_finished = [&staged, sequences = batch.sequences, out, heads, dim, num](bool answered) {
    for (std::size_t index = 0; answered && index < num; ++index) {
      put_columns(staged.parts[index].o, index, num, heads * dim, sequences, out.o);
      put_columns(staged.parts[index].lse, index, num, heads, sequences, out.lse);
    }
    staged.in_use = false;
  };
  staged.in_use = true;
  for (std::size_t index = 0; index < num; ++index) {
    Columns& columns = staged.parts[index];
    take_columns(batch.q, index, num, heads * dim, columns.q);
    take_columns(batch.k, index, num, kv_width, columns.k);
    take_columns(batch.v, index, num, kv_width, columns.v);
    columns.o.resize(out.o.size() / num);
    columns.lse.resize(out.lse.size() / num);
    AttentionBatch local = batch;
    local.q = columns.q;
    local.k = columns.k;
    local.v = columns.v;
    submit_part(flight, static_cast<int>(index), local, {columns.o, columns.lse});
  }
}

void TensorSplitAttention::submit_shards(Flight& flight, const AttentionBatch& batch,
                                         AttentionPartial out) {
  auto& compute = static_cast<TensorSplitUnit&>(*book()->owner);
  const auto num = static_cast<std::size_t>(num_parts());
  const std::int64_t q_width = std::int64_t{geometry().q_heads} * geometry().head_dim;
  const std::int64_t kv_width = std::int64_t{geometry().kv_heads} * geometry().head_dim;
  const Slice q = book()->find(batch.q.data()), k = book()->find(batch.k.data()),
              v = book()->find(batch.v.data()), o = book()->find(out.o.data()),
              lse = book()->find(out.lse.data());
  const auto cut = [&](const Slice& slice, std::span<const float> rows, std::int64_t width) {
    if (slice) compute.make_shards(slice, std::ssize(rows) / width, width);
  };
  cut(q, batch.q, q_width);
  cut(k, batch.k, kv_width);
  cut(v, batch.v, kv_width);
  for (const AttentionSequence& sequence : batch.sequences) {
    const auto mark = [&](Slice slice, std::int64_t width) {
      slice.offset_bytes += static_cast<std::size_t>(sequence.q_begin * width) * sizeof(float);
      compute.mark_shards(slice, sequence.num_q, width);
    };
    if (sequence.num_q > 0) mark(o, q_width), mark(lse, geometry().q_heads);
  }
  const auto shard = [&](std::size_t part, const Slice& slice, std::size_t count) {
    if (!slice) return std::span<float>();
    return device_floats(compute.shard(static_cast<int>(part), slice), count / num);
  };
  for (std::size_t part = 0; part < num; ++part) {
    AttentionBatch local = batch;
    local.q = shard(part, q, batch.q.size());
    local.k = shard(part, k, batch.k.size());
    local.v = shard(part, v, batch.v.size());
    submit_part(flight, static_cast<int>(part), local,
                {shard(part, o, out.o.size()), shard(part, lse, out.lse.size())});
  }
}

}  // namespace tandem::device::parallel
