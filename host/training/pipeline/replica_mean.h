// SPDX-License-Identifier: Apache-2.0
//
// ReplicaMean: sums the gradients of one layer over the replicas of a pipeline, sparse or dense.
//
// The replicas of a rank have the same layers in the same order. Matrices of at least `dense_below`
// values go through a sparsifier, whose residual belongs to the layer and moves with it (bytes());
// the rest is summed densely. Dense steps leave residuals as they are. Gradients that a replica
// passes are parts of the whole batch's, so their sum is what the step needs. Ownership: borrows
// nothing. Threads: one. Errors: those of the sparsifiers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collectives/group.h"
#include "collectives/sparsifier/sparsifier.h"
#include "training/trainer/gradient_mean.h"
#include "training/trainer/parameter_set.h"
#include "transport/payload.h"

namespace tandem::training {

class ReplicaMean {
 public:
  // own: how many of the parameters are the layer's own, the first ones.
  ReplicaMean(ParameterSet& parameters, std::size_t own, const ReduceOptions& options);
  ~ReplicaMean();

  // peers: the replicas of this rank.
  void sum(collectives::Group& peers, bool dense);

  // The residuals, for another rank of the same replica, or for a checkpoint.
  void append_to(transport::ByteBuffer& bytes) const;
  // Takes its own part from the front of `bytes`.
  void restore(std::span<const std::byte>& bytes);

 private:
  ParameterSet& parameters_;
  const std::size_t own_;
  const ReduceOptions options_;
  // [own]; null: dense
  std::vector<std::unique_ptr<collectives::Sparsifier>> sparsifiers_;
};

}  // namespace tandem::training
