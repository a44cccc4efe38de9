// SPDX-License-Identifier: Apache-2.0
//
// SparCML's SSAR_Recursive_double: ranks exchange their whole sums with a peer at distance 1, 2, 4,
// ..., and a sum that has become too full continues as a dense vector.
//
// Steps: log2 n for a power of two; else log2 of the next lower one and 2 (recursive_doubling.h).
// Balance: all ranks of a block send the same; only unions of different blocks differ. Numerics: a
// binary tree over ranks, lower block first; the last sum is rounded to the wire. Source: Renggli
// et al., SparCML, SC 2019, sections 5.1 and 5.3.1.
#include "collectives/scheme/recursive_doubling.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

// Bytes sent and received per rank: sum over rounds i = 0 .. log2 n - 1 of the encoded union of 2^i
// ranks (COO: gamma^(2^i) nnz (4 + value bytes)), or N x value bytes once (nnz1 + nnz2) (4 + value
// bytes) >= N x value bytes; 8 bytes and a frame per message. Value bytes are the wire type's in
// round 0, those of the accumulation type (f32 for 16 bits) in later ones.
class SparcmlRecursiveDoubling final : public Scheme {
 public:
  std::string_view name() const override { return "sparcml_recursive_doubling"; }
  std::string_view description() const override {
    return "SparCML: recursive doubling of whole vectors, dense once that is smaller";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    return recursive_doubling_cost(problem, link, compute, DenseSwitch::kWhenSmaller);
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    return recursive_doubling(ranks, std::move(own), settings, DenseSwitch::kWhenSmaller);
  }
};

}  // namespace

const Scheme& sparcml_recursive_doubling() {
  static const SparcmlRecursiveDoubling scheme;
  return scheme;
}

}  // namespace tandem::collectives
