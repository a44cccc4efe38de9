// SPDX-License-Identifier: Apache-2.0
//
// AGsparse: every rank sends its entries to every other and sums all of them itself.
//
// Steps: 1, of n - 1 messages each way. Bytes received per rank: sum over the others of the encoded
// size of their vectors (COO: nnz_i (4 + value bytes)); sent: n - 1 times its own. Balance: the
// rank with most entries sends most; every rank merges n vectors. Numerics: each rank adds the same
// vectors in rank order, so the bits are equal; the sum is rounded to the wire type like every
// scheme's. Source: the sparse all-gather of common training frameworks; cost in Wang et al., ZEN,
// OSDI 2025.
#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/schemes.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr const char* kPhase = "all-gather";

class AllgatherSparse final : public Scheme {
 public:
  std::string_view name() const override { return "allgather_sparse"; }
  std::string_view description() const override {
    return "AGsparse: all-gather of all entries, everybody sums";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const double peers = problem.world - 1;
    const double own = union_of(problem.union_entries, 1);
    const auto units = static_cast<double>(problem.domain.num_units);
    const double blocks = union_of(problem.union_blocks, 1);
    const double message = sparse_message_bytes(problem, units, own, blocks);
    CostSum sum(problem, link);
    PhaseCost gather;
    gather.steps = peers > 0 ? 1 : 0;
    gather.messages = peers;
    gather.received = peers * message;
    gather.sent = peers * sparse_message_bytes(problem, units, own * problem.entry_imbalance,
                                               blocks * problem.entry_imbalance);
    gather.total = problem.world * peers * message;
    gather.total_messages = problem.world * peers;
    gather.inside = peers_inside(problem);
    sum.add(gather);
    sum.compute(problem.world * own * (compute.merge_s_per_entry + compute.codec_s_per_entry));
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    round_as_sent(own, settings);
    ByteBuffer message = encoded_message(own, settings);
    const Domain domain = own.domain();
    const DType type = own.type();
    std::vector<SparseVector> parts(static_cast<std::size_t>(ranks.world()));
    parts[static_cast<std::size_t>(ranks.rank())] = std::move(own);
    for (auto& received : ranks.all_gather(kPhase, std::move(message))) {
      if (!received) continue;
      parts[static_cast<std::size_t>(received->source())] =
          decode_from(ranks, kPhase, *received, domain, type, settings.reduction);
    }
    SparseVector sum = merge(parts, settings.reduction);
    finish_sum(sum, settings, ranks.world());
    return sum;
  }
};

}  // namespace

const Scheme& allgather_sparse() {
  static const AllgatherSparse scheme;
  return scheme;
}

}  // namespace tandem::collectives
