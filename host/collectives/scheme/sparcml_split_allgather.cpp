// SPDX-License-Identifier: Apache-2.0
//
// SparCML's SSAR_Split_allgather: even ranges go to their owners, which merge them; then an
// all-gather of the merged ranges, sparse throughout.
//
// Steps: 2, of n - 1 messages each way. Bytes received by rank j, COO of 4 + value bytes:
//   split:  sum over i != j of |I_i in range j| (4 + value bytes)
//   gather: sum over k != j of |union in range k| (4 + value bytes)
// and a frame and a codec's header per message.
// Balance: none; the busiest owner waits for skew x its share (see balanced_parallelism.cpp).
// Numerics: an owner adds in rank order; its sum is rounded to the wire type.
// Source: Renggli et al., SparCML, SC 2019, section 5.3.2.
#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

class SparcmlSplitAllgather final : public Scheme {
 public:
  std::string_view name() const override { return "sparcml_split_allgather"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "SparCML: split into even ranges, merge, sparse all-gather";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const OwnerProblem owners{problem.world, problem.even_push_imbalance,
                              problem.even_pull_imbalance, union_of(problem.union_entries, 1),
                              union_of(problem.union_entries, problem.world)};
    return owners_cost(problem, owners, link, compute);
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator& aggregator) const override {
    const Partition ranges = Partition::even(own.domain().num_units, ranks.world());
    return reduce_by_owners(ranks, ranges, std::move(own), settings, aggregator);
  }
};

}  // namespace

const Scheme& sparcml_split_allgather() {
  static const SparcmlSplitAllgather scheme;
  return scheme;
}

}  // namespace tandem::collectives
