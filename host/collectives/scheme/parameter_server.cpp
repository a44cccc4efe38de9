// SPDX-License-Identifier: Apache-2.0
//
// Sparse parameter server: some ranks are also servers of even ranges. All ranks push to the
// servers and pull the sums.
//
// Servers are the first s ranks (`server_count`; all by default); they are workers too. Steps: 2,
// of s messages from every rank (s - 1 from a server), then n - 1 from every server. Numerics: a
// server adds in rank order; its sum is rounded to the wire type. Source: Li et al., Scaling
// distributed machine learning with the parameter server, OSDI 2014.
#include <algorithm>

#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

int servers_of(int server_count, int world) {
  return server_count <= 0 ? world : std::min(server_count, world);
}

// Bytes, COO of 4 + value bytes, with a frame and a codec's header per message:
//   received by server j: sum over i != j of |I_i in range j| (4 + value bytes)
//   sent by server j:     (n - 1) |union in range j| (4 + value bytes)
// Workers send their entries once and receive the union once. Balance: none. The busiest server
// carries skew x its share, and n / s times its load with all ranks as servers.
class ParameterServer final : public Scheme {
 public:
  std::string_view name() const override { return "parameter_server"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "sparse parameter server: push to and pull from servers of even ranges";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const OwnerProblem owners{servers_of(problem.server_count, problem.world),
                              problem.even_push_imbalance, problem.even_pull_imbalance,
                              union_of(problem.union_entries, 1),
                              union_of(problem.union_entries, problem.world)};
    return owners_cost(problem, owners, link, compute);
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator& aggregator) const override {
    const Partition ranges =
        Partition::even(own.domain().num_units, servers_of(settings.server_count, ranks.world()));
    return reduce_by_owners(ranks, ranges, std::move(own), settings, aggregator);
  }
};

}  // namespace

const Scheme& parameter_server() {
  static const ParameterServer scheme;
  return scheme;
}

}  // namespace tandem::collectives
