// SPDX-License-Identifier: Apache-2.0
//
// Dense recursive halving (reduce-scatter) and doubling (all-gather), by any number of ranks.
//
// Steps: 2 log2 n for a power of two. Otherwise 2 log2 p of the next lower power p, and 2 more: n -
// p ranks give their vector to a neighbour and get the result from it (folding.h). Numerics: a
// binary tree over ranks for every unit; partial sums travel in the accumulation type, the sum is
// rounded to the wire type. Result: dense; max only of dense tensors (halving_doubling()). Source:
// Thakur, Rabenseifner and Gropp, Optimization of collective communication in MPICH, 2005.
#include <utility>

#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/dense_exchange.h"
#include "collectives/scheme/folding.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

// Bytes sent and received per active rank: 2 (p - 1) / p M + 2 log2 p frames, M = N x value bytes;
// folded pairs also exchange M both ways. With a 16-bit wire partial sums have 32 bits. This
// affects all halving messages except the first half, which holds the ranks' own values (a folded
// pair's sum does not). Balance: halves differ by one unit; the active rank of a folded pair sends
// and receives M more than the others.
class DenseHalvingDoubling final : public Scheme {
 public:
  std::string_view name() const override { return "dense_halving_doubling"; }
  std::string_view description() const override {
    return "dense all-reduce by recursive halving and doubling";
  }

  std::string refusal(const Problem& problem) const override { return dense_refusal(problem); }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const auto units = static_cast<double>(problem.domain.num_units);
    CostSum sum(problem, link);
    add_halving_doubling(problem, units, sum);
    const double rounds = Folding(problem.world).rounds();
    sum.compute((rounds > 0 ? 4 : 1) * units * problem.domain.width * compute.dense_s_per_value);
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    DenseVector dense = to_dense(std::exchange(own, {}), settings.reduction);
    halving_doubling(ranks, dense, settings);
    return dense;
  }
};

}  // namespace

const Scheme& dense_halving_doubling() {
  static const DenseHalvingDoubling scheme;
  return scheme;
}

}  // namespace tandem::collectives
