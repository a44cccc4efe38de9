// SPDX-License-Identifier: Apache-2.0
//
// TensorWeight: a weight of which each unit of a tensor-parallel group has its share.
//
// kOutputs: unit u of N has rows [u, u + 1) * out / N (of a vector: those values); kInputs: those
// columns, copied row by row while loading. A table stays whole on every unit; a table that is also
// the output projection is both. What stands behind the layers and does not divide stays whole.
// Errors: Error naming the numbers where a weight does not divide, or not at borders of its type's
// blocks. Threads: loading from one.
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
  bool borrows_source() const override;  // as any of its parts

  const UnitGroup& group() const { return group_; }
  // How products with it are divided; a whole weight: kNone.
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
