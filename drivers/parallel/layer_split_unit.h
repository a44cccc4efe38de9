// SPDX-License-Identifier: Apache-2.0
//
// LayerSplitUnit: a compute unit made of several, each with some layers of a model (contract:
// device/compute_unit.h).
//
// A weight is on the unit of its layer; vectors outside the layers (the output norm) are on all. An
// operation runs on the unit of its weights; without weights, on the unit of its input. Device
// buffers have a copy on every unit and record which bytes are current on which unit. Results are
// those of a single unit, bit for bit, if the units are of one kind. Cost: activations on every
// unit; the units work one after another, except with two sub-batches. Threads: one submitter;
// stats() from any.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "device/op_operands.h"
#include "parallel/layer_ranges.h"
#include "parallel/unit_group.h"

namespace tandem::device::parallel {

class LayerSplitUnit final : public ComputeUnit {
 public:
  // peers: null for copies through host memory. It copies bytes to the unit of an operation if they
  // are not current there: one residual per step for each border between units. book: where
  // attention units find the buffers. host_unit: the unit whose host memory all others see.
  LayerSplitUnit(std::vector<std::unique_ptr<ComputeUnit>> units, std::unique_ptr<PeerCopy> peers,
                 const LayerRanges& layers, std::shared_ptr<AddressBook> book = nullptr,
                 int host_unit = 0);
  ~LayerSplitUnit() override;

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes, MemoryKind kind) override;
  std::unique_ptr<Weight> load(const WeightSource& source) override;

  // The operations that all its units support, except rings, because the thread of a ring answers
  // only one unit.
  bool supports(OpKind kind) const override;
  // Errors: Error if the weights of one operation are on different units. If any unit fails, wait()
  // throws DeviceError and the composite is lost.
  void enqueue(const Op& op) override;

  Ticket record() override { return group_.record(); }
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  ComputeStats stats() const override { return group_.stats(); }

  // A unit, for attention units that work in its queue.
  ComputeUnit& unit(int index) { return group_.unit(index); }
  // These three return the same place on a unit. read() makes its bytes current; write() is for
  // bytes that are then replaced; update() does both.
  Slice read(int unit, const Slice& slice, std::size_t size_bytes);
  Slice write(int unit, const Slice& slice, std::size_t size_bytes);
  Slice update(int unit, const Slice& slice, std::size_t size_bytes);

 private:
  class CompositeWeight;
  class CompositeBuffer;
  class UnitOperands;  // the operands of an operation on one unit

  Slice use(int unit, const Slice& slice, std::size_t size_bytes, Access access);
  CompositeBuffer& mine(const Slice& slice, std::size_t size_bytes) const;
  UnitMask where(const Slice& slice) const;  // the units on which its first byte is current
  // A unit that has all these weights, preferably one where x is current.
  int choose(std::span<const Weight* const> weights, const Slice& x);
  const Weight* on(int unit, const Weight* weight) const;

  UnitGroup group_;
  const LayerRanges layers_;
  std::shared_ptr<AddressBook> book_;
  const int host_unit_;
  std::set<CompositeBuffer*> shared_;  // host buffers
  int last_unit_ = 0;                  // the unit of the last operation
};

}  // namespace tandem::device::parallel
