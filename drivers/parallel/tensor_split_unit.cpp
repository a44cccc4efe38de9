// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitUnit: operands, and the operations that every unit does for itself.
#include "parallel/tensor_split_unit.h"

#include <string>
#include <utility>

#include "common/error.h"
#include "device/extents.h"
#include "parallel/host_reducer.h"

namespace tandem::device::parallel {

class TensorSplitUnit::CompositeBuffer final : public TensorBuffer {
 public:
  CompositeBuffer(TensorSplitUnit& owner, std::size_t size_bytes, MemoryKind kind)
      : TensorBuffer(owner.group_, owner.gathered_, size_bytes, kind), owner_(owner) {
    owner.buffers_.insert(this);
    owner.book_->add(*this);
  }
  ~CompositeBuffer() override {
    owner_.book_->remove(*this);
    owner_.buffers_.erase(this);
  }

 private:
  TensorSplitUnit& owner_;
};

TensorSplitUnit::TensorSplitUnit(std::vector<std::unique_ptr<ComputeUnit>> units,
                                 std::unique_ptr<PeerCopy> peers, std::unique_ptr<Reducer> reducer,
                                 std::shared_ptr<AddressBook> book)
    : group_(std::move(units), std::move(peers)),
      reducer_(std::move(reducer)),
      book_(book ? std::move(book) : std::make_shared<AddressBook>()),
      gathered_(group_),
      summed_(group_),
      zeros_(group_.units().size()) {
  if (!reducer_) reducer_ = std::make_unique<HostReducer>(group_.units());
  book_->owner = this;
}

TensorSplitUnit::~TensorSplitUnit() { book_->owner = nullptr; }

std::unique_ptr<Buffer> TensorSplitUnit::allocate(std::size_t size_bytes, MemoryKind kind) {
  return std::make_unique<CompositeBuffer>(*this, size_bytes, kind);
}

std::unique_ptr<Weight> TensorSplitUnit::load(const WeightSource& source) {
  return std::make_unique<TensorWeight>(source, group_);
}

WaitResult TensorSplitUnit::wait(Ticket ticket, Deadline deadline) {
  const WaitResult result = group_.wait(ticket, deadline);
  if (result != WaitResult::kDone) return result;
  for (TensorBuffer* buffer : buffers_) buffer->after_wait();
  return result;
}

TensorBuffer& TensorSplitUnit::buffer_of(const Slice& slice) const {
  auto* buffer = dynamic_cast<TensorBuffer*>(slice.buffer);
  if (buffer == nullptr || &buffer->group() != &group_) {
    throw Error("parallel", "an operand is missing or was allocated by another unit");
  }
  return *buffer;
}

const TensorWeight& TensorSplitUnit::weight_of(const Weight* weight, const char* what) const {
  const auto* mine = dynamic_cast<const TensorWeight*>(weight);
  if (mine == nullptr || &mine->group() != &group_) {
    throw Error("parallel", std::string(what) + " is missing or was loaded by another unit");
  }
  return *mine;
}

void TensorSplitUnit::make_whole(const Slice& slice, std::size_t size_bytes) const {
  buffer_of(slice).make_whole(slice.offset_bytes, slice.offset_bytes + size_bytes);
}
void TensorSplitUnit::mark_whole(const Slice& slice, std::size_t size_bytes) const {
  buffer_of(slice).mark_whole(slice.offset_bytes, slice.offset_bytes + size_bytes);
}
Slice TensorSplitUnit::read(int unit, const Slice& slice, std::size_t size_bytes) const {
  return buffer_of(slice).read(unit, slice.offset_bytes, slice.offset_bytes + size_bytes);
}
Slice TensorSplitUnit::write(int unit, const Slice& slice, std::size_t size_bytes) const {
  return buffer_of(slice).write(unit, slice.offset_bytes, slice.offset_bytes + size_bytes);
}
bool TensorSplitUnit::writes(int unit, const Slice& slice) const {
  return (buffer_of(slice).writers() & mask_of(unit)) != 0;
}

bool TensorSplitUnit::in_shards(const Slice& slice, std::int64_t rows, std::int64_t width) const {
  const std::size_t bytes = float_bytes(rows, width);
  return bytes > 0 && buffer_of(slice).in_shards(slice.offset_bytes, slice.offset_bytes + bytes,
                                                 float_bytes(1, width));
}
void TensorSplitUnit::make_shards(const Slice& slice, std::int64_t rows, std::int64_t width) {
  buffer_of(slice).make_shards(slice.offset_bytes, slice.offset_bytes + float_bytes(rows, width),
                               float_bytes(1, width));
}
void TensorSplitUnit::mark_shards(const Slice& slice, std::int64_t rows, std::int64_t width) {
  buffer_of(slice).mark_shards(slice.offset_bytes, slice.offset_bytes + float_bytes(rows, width),
                               float_bytes(1, width));
}
Slice TensorSplitUnit::shard(int unit, const Slice& slice) const {
  return buffer_of(slice).shard(unit, slice.offset_bytes);
}

std::int64_t TensorSplitUnit::share_of(std::int64_t heads, const char* what) const {
  if (heads % group_.size() == 0) return heads / group_.size();
  throw Error("parallel", std::to_string(heads) + " " + what + " cannot be divided among " +
                              std::to_string(group_.size()) +
                              " devices; use another number of them, or --split layers");
}

void TensorSplitUnit::handle(const EmbedOp& op) {
  const TensorWeight& table = weight_of(op.table, "embed: the table");
  const std::size_t bytes = float_bytes(std::ssize(op.ids), table.in_features());
  mark_whole(op.out, bytes);
  for (int unit = 0; unit < group_.size(); ++unit) {
    if (!writes(unit, op.out)) continue;
    EmbedOp local = op;
    local.table = table.table(unit);
    local.out = write(unit, op.out, bytes);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const RmsNormOp& op) {
  const TensorWeight& weight = weight_of(op.weight, "rms norm: the weight");
  const std::size_t bytes = float_bytes(op.rows, weight.in_features());
  make_whole(op.x, bytes);
  if (op.accumulate) make_whole(op.out, bytes);
  mark_whole(op.out, bytes);
  for (int unit = 0; unit < group_.size(); ++unit) {
    if (!writes(unit, op.out)) continue;
    RmsNormOp local = op;
    local.weight = weight.share(unit);
    local.x = read(unit, op.x, bytes);
    local.out = write(unit, op.out, bytes);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const GatherRowsOp& op) {
  const std::size_t in_bytes = float_bytes(end_row(op.rows), op.width);
  const std::size_t out_bytes = float_bytes(std::ssize(op.rows), op.width);
  make_whole(op.x, in_bytes);
  mark_whole(op.out, out_bytes);
  for (int unit = 0; unit < group_.size(); ++unit) {
    if (!writes(unit, op.out)) continue;
    GatherRowsOp local = op;
    local.x = read(unit, op.x, in_bytes);
    local.out = write(unit, op.out, out_bytes);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const GatedAddOp& op) {
  const std::size_t bytes = float_bytes(op.rows, op.width), gate_bytes = float_bytes(op.rows, 1);
  make_whole(op.x, bytes);
  make_whole(op.gate, gate_bytes);
  make_whole(op.out, bytes);
  for (int unit = 0; unit < group_.size(); ++unit) {
    if (!writes(unit, op.out)) continue;
    GatedAddOp local = op;
    local.x = read(unit, op.x, bytes);
    local.gate = read(unit, op.gate, gate_bytes);
    local.out = write(unit, op.out, bytes);
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const SoftcapOp& op) {
  const std::size_t bytes = float_bytes(op.rows, op.width);
  const bool by_columns = in_shards(op.x, op.rows, op.width);
  if (by_columns) {
    mark_shards(op.x, op.rows, op.width);
  } else {
    make_whole(op.x, bytes);
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    SoftcapOp local = op;
    if (by_columns) {
      local.width = op.width / group_.size();
      local.x = shard(unit, op.x);
    } else if (writes(unit, op.x)) {
      local.x = write(unit, op.x, bytes);
    } else {
      continue;
    }
    group_.enqueue(unit, local);
  }
}

void TensorSplitUnit::handle(const CopyOp& op) {
  TensorBuffer &from = buffer_of(op.from), &to = buffer_of(op.to);
  const std::size_t begin = op.from.offset_bytes, end = begin + op.size_bytes;
  const std::size_t row_bytes = from.row_bytes_at(begin);
  const bool by_columns = row_bytes > 0 && from.in_shards(begin, end, row_bytes) &&
                          end % row_bytes == 0 && op.to.offset_bytes % row_bytes == 0;
  if (by_columns) {
    to.mark_shards(op.to.offset_bytes, op.to.offset_bytes + op.size_bytes, row_bytes);
  } else {
    make_whole(op.from, op.size_bytes);
    mark_whole(op.to, op.size_bytes);
  }
  for (int unit = 0; unit < group_.size(); ++unit) {
    CopyOp local = op;
    if (by_columns) {
      local = {op.size_bytes / static_cast<std::size_t>(group_.size()), shard(unit, op.from),
               shard(unit, op.to)};
    } else if (writes(unit, op.to)) {
      local.from = read(unit, op.from, op.size_bytes);
      local.to = write(unit, op.to, op.size_bytes);
    } else {
      continue;
    }
    group_.enqueue(unit, local);
  }
}

}  // namespace tandem::device::parallel
