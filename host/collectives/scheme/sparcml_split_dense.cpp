// SPDX-License-Identifier: Apache-2.0
//
// SparCML's DSAR_Split_allgather: even ranges go to their owners sparse; the sums come back dense.
//
// Steps: 2, of n - 1 messages each way. Bytes received by rank j, COO of 4 + value bytes:
//   split:  sum over i != j of |I_i in range j| (4 + value bytes)
//   gather: (N - |range j|) x value bytes, whatever the density
// and a frame per message, a codec's header in the split.
// Balance: the split as sparcml_split_allgather.cpp, the gather perfect.
// Numerics: an owner adds in rank order; its sum is rounded to the wire type. Result: dense. No
// max. Source: Renggli et al., SparCML, SC 2019, section 5.3.3.
#include <algorithm>

#include "collectives/scheme/dense_exchange.h"
#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/schemes.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr const char* kGatherPhase = "dense all-gather";

UnitRange range_of(const Partition& ranges, int owner) {
  const std::uint64_t begin = std::min(ranges.num_units(), ranges.unit(owner, 0));
  return {begin, begin + ranges.num_local(owner)};
}

class SparcmlSplitDense final : public Scheme {
 public:
  std::string_view name() const override { return "sparcml_split_dense"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "SparCML: split into even ranges, merge, dense all-gather";
  }
  std::string refusal(const Problem& problem) const override { return dense_refusal(problem); }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const OwnerProblem owners{problem.world, problem.even_push_imbalance,
                              problem.even_pull_imbalance, union_of(problem.union_entries, 1),
                              union_of(problem.union_entries, problem.world)};
    const auto units = static_cast<double>(problem.domain.num_units);
    const double peers = problem.world - 1;
    CostSum sum(problem, link);
    sum.add(push_cost(problem, owners));
    PhaseCost gather;
    gather.steps = peers > 0 ? 1 : 0;
    gather.messages = peers;
    gather.sent = gather.received = peers * dense_message_bytes(problem, units / problem.world);
    gather.total = problem.world * gather.sent;
    gather.total_messages = problem.world * peers;
    gather.inside = peers_inside(problem);
    sum.add(gather);
    sum.compute(owner_compute_s(problem, owners, compute) +
                2 * units * problem.domain.width * compute.dense_s_per_value);
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator& aggregator) const override {
    const Domain domain = own.domain();
    const Partition ranges = Partition::even(domain.num_units, ranks.world());
    round_as_sent(own, settings);
    const auto parts = push_to_owners(ranks, "split", ranges, own, settings);
    std::vector<SparseVector> sums;
    for (int owner = 0; owner < ranks.world(); ++owner) {
      sums.emplace_back(Domain{ranges.num_local(owner), domain.width}, own.type());
    }
    SparseVector& sum = sums[static_cast<std::size_t>(ranks.rank())];
    sum = aggregate_parts(parts, settings.reduction, aggregator, ranks.deadline());
    finish_sum(sum, settings, ranks.world());
    DenseVector dense = to_dense(ranges.join(std::move(sums), domain), settings.reduction);
    for (auto& received : ranks.all_gather(
             kGatherPhase, dense_message(dense, range_of(ranges, ranks.rank()), settings.wire))) {
      if (!received) continue;
      store_dense_message({ranks, kGatherPhase, *received}, range_of(ranges, received->source()),
                          settings.wire, dense);
    }
    return dense;
  }
};

}  // namespace

const Scheme& sparcml_split_dense() {
  static const SparcmlSplitDense scheme;
  return scheme;
}

}  // namespace tandem::collectives
