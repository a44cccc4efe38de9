// SPDX-License-Identifier: Apache-2.0
//
// RecordingComputeUnit: the base of compute doubles. It computes nothing: it keeps every operation
// as a value, in order, and every ticket is done.
//
// Memory is host memory and starts as zeros. It supports every operation unless a derived double
// says otherwise. Threads: one.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/compute_unit.h"
#include "device/op_summary.h"
#include "support/recorded_op.h"

namespace tandem::test {

class RecordingComputeUnit : public device::ComputeUnit {
 public:
  std::unique_ptr<device::Buffer> allocate(std::size_t size_bytes, device::MemoryKind) override {
    return std::make_unique<Memory>(size_bytes);
  }
  bool device_memory_is_host() const override { return true; }
  std::unique_ptr<device::Weight> load(const device::WeightSource& source) override {
    return std::make_unique<Shape>(source);
  }

  bool supports(device::OpKind) const override { return true; }
  void enqueue(const device::Op& op) override {
    if (!supports(device::kind_of(op))) device::refuse(op);
    ops_.emplace_back(op);
  }

  device::Ticket record() override { return ++last_ticket_; }
  device::WaitResult wait(device::Ticket, Deadline) override { return device::WaitResult::kDone; }
  device::ComputeStats stats() const override { return {.ops = ops_.size()}; }

  const std::deque<RecordedOp>& ops() const { return ops_; }
  // "embed", "norm", ...: the operations in order.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const RecordedOp& each : ops_) names.emplace_back(device::describe(each.op()).name);
    return names;
  }

 private:
  class Memory final : public device::Buffer {
   public:
    explicit Memory(std::size_t size_bytes) : bytes_(size_bytes) {}
    std::size_t size_bytes() const override { return bytes_.size(); }
    std::span<std::byte> host() override { return bytes_; }
    std::byte* address() override { return bytes_.data(); }

   private:
    std::vector<std::byte> bytes_;
  };
  class Shape final : public device::Weight {
   public:
    explicit Shape(const device::WeightSource& source)
        : out_features_(source.out_features), in_features_(source.in_features) {}
    std::int64_t out_features() const override { return out_features_; }
    std::int64_t in_features() const override { return in_features_; }
    std::size_t size_bytes() const override { return 0; }

   private:
    std::int64_t out_features_, in_features_;
  };

  std::deque<RecordedOp> ops_;
  device::Ticket last_ticket_ = 0;
};

}  // namespace tandem::test
