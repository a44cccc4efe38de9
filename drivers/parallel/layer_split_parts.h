// SPDX-License-Identifier: Apache-2.0
//
// The buffers and weights of LayerSplitUnit.
//
// Threads, errors: as layer_split_unit.h.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parallel/layer_split_unit.h"

namespace tandem::device::parallel {

class LayerSplitUnit::CompositeWeight final : public Weight {
 public:
  CompositeWeight(const LayerSplitUnit& owner, const WeightSource& source, UnitMask places)
      : owner(owner),
        places(places),
        out_features_(source.out_features),
        in_features_(source.in_features) {}

  std::int64_t out_features() const override { return out_features_; }
  std::int64_t in_features() const override { return in_features_; }
  std::size_t size_bytes() const override {
    std::size_t sum = 0;
    for (const auto& part : parts) sum += part ? part->size_bytes() : 0;
    return sum;
  }
  bool borrows_source() const override {
    return std::ranges::any_of(parts,
                               [](const auto& part) { return part && part->borrows_source(); });
  }

  const LayerSplitUnit& owner;
  const UnitMask places;
  std::vector<std::unique_ptr<Weight>> parts;  // [units]; null: the weight is not on this unit

 private:
  std::int64_t out_features_, in_features_;
};

// A device buffer: a copy per unit. A host buffer: one memory for all.
class LayerSplitUnit::CompositeBuffer final : public Buffer {
 public:
  CompositeBuffer(LayerSplitUnit& owner, std::size_t size_bytes, MemoryKind kind);
  ~CompositeBuffer() override;

  std::size_t size_bytes() const override { return size_bytes_; }
  std::span<std::byte> host() override {
    return shared_ ? copies_[0]->host() : std::span<std::byte>();
  }
  std::byte* address() override { return copies_[0]->address(); }

  const LayerSplitUnit* owner() const { return &owner_; }
  Slice place(int unit, std::size_t offset);
  UnitMask current_at(std::size_t offset)
      const;  // units where the byte at `offset` is current; 0 for a host buffer
  void use(int unit, std::size_t begin, std::size_t end, Access access);
  void after_wait() { shared_->clear_finished(owner_.group_); }

 private:
  LayerSplitUnit& owner_;
  const std::size_t size_bytes_;
  std::vector<std::unique_ptr<Buffer>> copies_;  // [units]; a host buffer has one
  std::optional<RangeMap<UnitMask>> current_;    // only in a device buffer
  std::optional<SharedMemory> shared_;           // only in a host buffer
};

}  // namespace tandem::device::parallel
