// SPDX-License-Identifier: Apache-2.0
//
// TensorWeight: a weight of which each unit of a tensor-parallel group has its share.
//
// kOutputs: unit u of N has rows [u, u + 1) * out / N (of a vector: those values). kInputs: those
// columns, copied row by row during loading. A table is whole on every unit; a table that is also
// the output projection is stored in both ways. A weight after the layers that does not divide
// stays whole. Errors: Error naming the numbers where a weight does not divide, or would be cut
// inside a block of its type. Threads: loading from one.
#pragma once

#include <memory>
#include <vector>

#include "parallel/unit_group.h"

namespace tandem::device::parallel {

class TensorWeight final : public Weight {
 public:
  TensorWeight(const WeightSource& source, UnitGroup& group);

  std::int64_t out_features() const override { return out_features_; }
  std::int64_t in_features() const override { return in_features_; }
  std::size_t size_bytes() const override;
  bool borrows_source() const override;  // whether any of its shares or tables does

  const UnitGroup& group() const { return group_; }
  // How products with it are divided; kNone: it is whole.
  WeightSplit split() const { return split_; }
  const Weight* share(int unit) const { return shares_[static_cast<std::size_t>(unit)].get(); }
  const Weight* table(int unit) const {
    return (tables_.empty() ? shares_ : tables_)[static_cast<std::size_t>(unit)].get();
  }

 private:
  void load_whole(const WeightSource& source, std::vector<std::unique_ptr<Weight>>& to);
  void load_outputs(const WeightSource& source);
  void load_inputs(const WeightSource& source);

  UnitGroup& group_;
  const std::int64_t out_features_, in_features_;
  WeightSplit split_;
  std::vector<std::unique_ptr<Weight>> shares_, tables_;  // [units]; tables of kBoth only
};

}  // namespace tandem::device::parallel
