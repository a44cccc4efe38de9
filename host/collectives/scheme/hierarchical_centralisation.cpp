// SPDX-License-Identifier: Apache-2.0
//
// Hierarchical centralisation: the optimum that ZEN finds for the centralised half of the design
// space (hierarchy, incremental aggregation, whole vectors, COO).
//
// It equals SparCML's recursive doubling without the switch to dense: the same peers, the same
// sums. The codec decides the form of a message (COO if `codec` says so). Steps, balance and
// numerics: as sparcml_recursive_doubling.cpp. Source: Wang et al., ZEN, OSDI 2025, section 3.
#include "collectives/scheme/recursive_doubling.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

// Bytes sent and received per rank: sum over i = 1 .. log2 n of the encoded union of 2^(i-1) ranks;
// in COO gamma^(2^(i-1)) nnz (4 + value bytes), which is the published T_HC times the bandwidth.
// Value bytes are the wire type's for i = 1, those of the accumulation type in later rounds.
class HierarchicalCentralisation final : public Scheme {
 public:
  std::string_view name() const override { return "hierarchical_centralisation"; }
  std::string_view description() const override {
    return "ZEN's hierarchical centralisation: recursive doubling, sparse throughout";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    return recursive_doubling_cost(problem, link, compute, DenseSwitch::kNever);
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    return recursive_doubling(ranks, std::move(own), settings, DenseSwitch::kNever);
  }
};

}  // namespace

const Scheme& hierarchical_centralisation() {
  static const HierarchicalCentralisation scheme;
  return scheme;
}

}  // namespace tandem::collectives
