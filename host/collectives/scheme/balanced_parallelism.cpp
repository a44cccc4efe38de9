// SPDX-License-Identifier: Apache-2.0
//
// Balanced parallelism with hierarchical hashing: a shared hash gives every unit an owner. Ranks
// push entries to owners, owners add them as they arrive, and all ranks pull the sums.
//
// Numerics: an owner adds in rank order; its sum is rounded to the wire type. Balance: Push and
// Pull imbalance at most 1 + Theta(sqrt(n ln n / nnz)) with high probability, for any support
// chosen without the seed. Owners own the same number of units exactly (partition.h). The constant
// is about 2 for the worst of n ranks and n owners: 1.1 from 400 n ln n entries on. Source: Wang et
// al., ZEN, OSDI 2025, sections 3 and 4.
#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

// Steps: 2, of n - 1 messages each way. Bytes received by rank j, with a frame and a codec's header
// per message:
//   push: sum over i != j of the encoded |I_i of owner j|; COO (n - 1) / n nnz (4 + value bytes)
//   pull: sum over k != j of the encoded |union of owner k|; as a bitmap over the owner's units
//         (n - 1) / n (N / 8 + |union| x value bytes). This is ZEN's hash bitmap, which is smaller
//         than COO above a density of 1/32. With codec auto each message takes its smallest codec.
class BalancedParallelism final : public Scheme {
 public:
  std::string_view name() const override { return "balanced_parallelism"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "ZEN: hashed owners, COO push, hash-bitmap pull";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const double own = union_of(problem.union_entries, 1);
    const double all = union_of(problem.union_entries, problem.world);
    const OwnerProblem owners{problem.world, hash_imbalance(own, problem.world),
                              hash_imbalance(all, problem.world), own, all};
    return owners_cost(problem, owners, link, compute);
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator& aggregator) const override {
    const Partition owners =
        Partition::hashed(own.domain().num_units, ranks.world(), settings.seed);
    return reduce_by_owners(ranks, owners, std::move(own), settings, aggregator);
  }
};

}  // namespace

const Scheme& balanced_parallelism() {
  static const BalancedParallelism scheme;
  return scheme;
}

}  // namespace tandem::collectives
