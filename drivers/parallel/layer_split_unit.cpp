// SPDX-License-Identifier: Apache-2.0
//
// LayerSplitUnit: buffers with copies, weights with places, and the unit of each operation.
#include "parallel/layer_split_unit.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/error.h"
#include "device/op_summary.h"
#include "parallel/layer_split_parts.h"

namespace tandem::device::parallel {

LayerSplitUnit::CompositeBuffer::CompositeBuffer(LayerSplitUnit& owner, std::size_t size_bytes,
                                                 MemoryKind kind)
    : owner_(owner), size_bytes_(size_bytes) {
  UnitGroup& group = owner.group_;
  if (kind == MemoryKind::kHost) {
    group.on(owner.host_unit_,
             [&](ComputeUnit& unit) { copies_.push_back(unit.allocate(size_bytes, kind)); });
    shared_.emplace(size_bytes);
    owner.shared_.insert(this);
  } else {
    for (int index = 0; index < group.size(); ++index) {
      group.on(index,
               [&](ComputeUnit& unit) { copies_.push_back(unit.allocate(size_bytes, kind)); });
    }
    current_.emplace(size_bytes, group.all());
  }
  owner.book_->add(*this);
}

LayerSplitUnit::CompositeBuffer::~CompositeBuffer() {
  owner_.book_->remove(*this);
  owner_.shared_.erase(this);
}

Slice LayerSplitUnit::CompositeBuffer::place(int unit, std::size_t offset) {
  return {copies_[shared_ ? 0 : static_cast<std::size_t>(unit)].get(), offset};
}

UnitMask LayerSplitUnit::CompositeBuffer::current_at(std::size_t offset) const {
  UnitMask mask = 0;
  if (current_) {
    current_->visit(offset, offset + 1,
                    [&](std::size_t, std::size_t, UnitMask units) { mask = units; });
  }
  return mask;
}

void LayerSplitUnit::CompositeBuffer::use(int unit, std::size_t begin, std::size_t end,
                                          Access access) {
  UnitGroup& group = owner_.group_;
  if (shared_) {
    if (access == Access::kRead) return shared_->read(group, unit, begin, end);
    return shared_->write(group, unit, begin, end);
  }
  const UnitMask mine = mask_of(unit);
  current_->update(begin, end, [&](std::size_t from, std::size_t to, UnitMask& units) {
    if (access != Access::kWrite && (units & mine) == 0) {
      const int source = std::countr_zero(units);
      group.together([&] {
        group.peers().copy(source, place(source, from), unit, place(unit, from), to - from);
      });
      units |= mine;
    }
    if (access != Access::kRead) units = mine;
  });
}

LayerSplitUnit::LayerSplitUnit(std::vector<std::unique_ptr<ComputeUnit>> units,
                               std::unique_ptr<PeerCopy> peers, const LayerRanges& layers,
                               std::shared_ptr<AddressBook> book, int host_unit)
    : group_(std::move(units), std::move(peers)),
      layers_(layers),
      book_(book ? std::move(book) : std::make_shared<AddressBook>()),
      host_unit_(host_unit) {
  if (layers.num_units() != group_.size()) {
    throw Error("parallel", "layers are divided among " + std::to_string(layers.num_units()) +
                                " units; there are " + std::to_string(group_.size()));
  }
  book_->owner = this;
}

LayerSplitUnit::~LayerSplitUnit() { book_->owner = nullptr; }

std::unique_ptr<Buffer> LayerSplitUnit::allocate(std::size_t size_bytes, MemoryKind kind) {
  return std::make_unique<CompositeBuffer>(*this, size_bytes, kind);
}

std::unique_ptr<Weight> LayerSplitUnit::load(const WeightSource& source) {
  UnitMask places = group_.all();  // a vector outside the layers
  if (source.layer >= 0) {
    places = mask_of(layers_.unit_of(source.layer));
  } else if (source.out_features != 1) {
    places = source.role == WeightRole::kProduct ? mask_of(group_.size() - 1) : mask_of(0);
  }
  auto weight = std::make_unique<CompositeWeight>(*this, source, places);
  for (int index = 0; index < group_.size(); ++index) {
    weight->parts.emplace_back();
    if ((places & mask_of(index)) == 0) continue;
    group_.on(index, [&](ComputeUnit& unit) { weight->parts.back() = unit.load(source); });
  }
  return weight;
}

WaitResult LayerSplitUnit::wait(Ticket ticket, Deadline deadline) {
  const WaitResult result = group_.wait(ticket, deadline);
  if (result != WaitResult::kDone) return result;
  for (CompositeBuffer* buffer : shared_) buffer->after_wait();
  return result;
}

LayerSplitUnit::CompositeBuffer& LayerSplitUnit::mine(const Slice& slice,
                                                      std::size_t size_bytes) const {
  auto* buffer = dynamic_cast<CompositeBuffer*>(slice.buffer);
  if (buffer == nullptr || buffer->owner() != this) {
    throw Error("parallel", "an operand is missing or was allocated by another unit");
  }
  if (slice.offset_bytes > buffer->size_bytes() ||
      size_bytes > buffer->size_bytes() - slice.offset_bytes) {
    throw Error("parallel", "an operand needs " + std::to_string(size_bytes) +
                                " bytes from offset " + std::to_string(slice.offset_bytes) +
                                " on; its buffer has " + std::to_string(buffer->size_bytes()));
  }
  return *buffer;
}

Slice LayerSplitUnit::use(int unit, const Slice& slice, std::size_t size_bytes, Access access) {
  CompositeBuffer& buffer = mine(slice, size_bytes);
  buffer.use(unit, slice.offset_bytes, slice.offset_bytes + size_bytes, access);
  return buffer.place(unit, slice.offset_bytes);
}

Slice LayerSplitUnit::read(int unit, const Slice& slice, std::size_t size_bytes) {
  return use(unit, slice, size_bytes, Access::kRead);
}
Slice LayerSplitUnit::write(int unit, const Slice& slice, std::size_t size_bytes) {
  return use(unit, slice, size_bytes, Access::kWrite);
}
Slice LayerSplitUnit::update(int unit, const Slice& slice, std::size_t size_bytes) {
  return use(unit, slice, size_bytes, Access::kUpdate);
}

UnitMask LayerSplitUnit::where(const Slice& slice) const {
  const auto* buffer = dynamic_cast<const CompositeBuffer*>(slice.buffer);
  return buffer == nullptr ? 0 : buffer->current_at(slice.offset_bytes);
}

int LayerSplitUnit::choose(std::span<const Weight* const> weights, const Slice& x) {
  UnitMask units = group_.all();
  for (const Weight* weight : weights) {
    const auto* mine = dynamic_cast<const CompositeWeight*>(weight);
    if (mine == nullptr || &mine->owner != this) {
      throw Error("parallel", "a weight was loaded by another unit");
    }
    units &= mine->places;
  }
  if (units == 0) {
    throw Error("parallel",
                "the weights of one operation are on different units; load them with the same "
                "layer");
  }
  if ((units & where(x)) != 0) units &= where(x);
  if ((units & mask_of(last_unit_)) == 0) last_unit_ = std::countr_zero(units);
  return last_unit_;
}

const Weight* LayerSplitUnit::on(int unit, const Weight* weight) const {
  return static_cast<const CompositeWeight*>(weight)->parts[static_cast<std::size_t>(unit)].get();
}

bool LayerSplitUnit::supports(OpKind kind) const {
  if (kind == op_kind<PostOp> || kind == op_kind<AwaitOp>) return false;
  return std::ranges::all_of(group_.units(),
                             [kind](const ComputeUnit* unit) { return unit->supports(kind); });
}

namespace {

// What decides where an operation runs.
class PlacingOperands final : public OperandMap {
 public:
  Slice slice(const Slice& slice, std::size_t, Access) override {
    if (!first) first = slice;
    return slice;
  }
  const Weight* weight(const Weight* weight) override {
    weights.push_back(weight);
    return weight;
  }

  std::vector<const Weight*> weights;
  Slice first;
};

}  // namespace

class LayerSplitUnit::UnitOperands final : public OperandMap {
 public:
  UnitOperands(LayerSplitUnit& owner, int unit) : owner_(owner), unit_(unit) {}

  Slice slice(const Slice& slice, std::size_t size_bytes, Access access) override {
    if (!slice && size_bytes == 0) return slice;  // of an operation without rows
    return owner_.use(unit_, slice, size_bytes, access);
  }
  const Weight* weight(const Weight* weight) override { return owner_.on(unit_, weight); }

 private:
  LayerSplitUnit& owner_;
  const int unit_;
};

void LayerSplitUnit::enqueue(const Op& op) {
  if (!supports(kind_of(op))) refuse(op);
  OpLists seen(OpLists::Keep::kBorrowed), lists(OpLists::Keep::kBorrowed);
  PlacingOperands placing;
  map_operands(op, seen, placing);
  const int unit = choose(placing.weights, placing.first);
  UnitOperands operands(*this, unit);
  group_.enqueue(unit, map_operands(op, lists, operands));
}

}  // namespace tandem::device::parallel
