// SPDX-License-Identifier: Apache-2.0
//
// Dense ring: reduce-scatter around the ring, then all-gather around it.
//
// Steps: 2 (n - 1), one message to the right neighbour and one from the left in each. Bytes sent
// and received per rank: 2 (n - 1) (M / n + frame) with M = N x value bytes, for any density; no
// dense all-reduce needs less. With a 16-bit wire n - 2 of the steps carry partial sums, in 32
// bits: (3 n - 4) M / n. Balance: chunks differ by one unit.
// Numerics: chunk c is added up in the order c, c + 1, ... around the ring; partial sums travel in
// the accumulation type, the sum is rounded to the wire type. Result: dense; max only of dense
// tensors (ring()).
// Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 2009.
#include <algorithm>
#include <utility>

#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/dense_exchange.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

constexpr const char* kReducePhase = "ring reduce-scatter";
constexpr const char* kGatherPhase = "ring all-gather";

class DenseRing final : public Scheme {
 public:
  std::string_view name() const override { return "dense_ring"; }
  std::string_view description() const override { return "dense all-reduce around a ring"; }

  std::string refusal(const Problem& problem) const override { return dense_refusal(problem); }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    CostSum sum(problem, link);
    const double n = problem.world;
    const auto units = static_cast<double>(problem.domain.num_units);
    PhaseCost ring;
    ring.steps = ring.messages = 2 * (n - 1);
    const double partial_steps = std::max(0.0, n - 2);
    ring.sent = ring.received =
        (ring.steps - partial_steps) * dense_message_bytes(problem, units / n) +
        partial_steps * dense_message_bytes(of_partials(problem), units / n);
    ring.total = n * ring.sent;
    ring.total_messages = n * ring.messages;
    ring.inside = one_node(problem) ? 1 : 0;  // the slowest hop sets the pace
    sum.add(ring);
    sum.compute((2 * units + units * (n - 1) / n * 2) * problem.domain.width *
                compute.dense_s_per_value);
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    DenseVector dense = to_dense(std::exchange(own, {}), settings.reduction);
    ring(ranks, dense, settings);
    return dense;
  }
};

}  // namespace

void ring(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings) {
  const int n = ranks.world();
  const int right = (ranks.rank() + 1) % n;
  const int left = (ranks.rank() + n - 1) % n;
  const auto chunk = [&](int number) {
    return even_range(dense.domain().num_units, (number % n + n) % n, n);
  };
  for (int step = 0; step < n - 1; ++step) {
    // The first step's values are the ranks' own.
    const SchemeSettings hop = step == 0 ? settings : of_partials(settings);
    const Message received = ranks.send_receive(
        kReducePhase, right, dense_message(dense, chunk(ranks.rank() - step), hop.wire), left);
    reduce_dense_message({ranks, kReducePhase, received}, chunk(ranks.rank() - step - 1), hop,
                         dense);
  }
  finish_sum(dense, chunk(ranks.rank() + 1), settings, n);
  for (int step = 0; step < n - 1; ++step) {
    const Message received = ranks.send_receive(
        kGatherPhase, right, dense_message(dense, chunk(ranks.rank() + 1 - step), settings.wire),
        left);
    store_dense_message({ranks, kGatherPhase, received}, chunk(ranks.rank() - step), settings.wire,
                        dense);
  }
}

const Scheme& dense_ring() {
  static const DenseRing scheme;
  return scheme;
}

}  // namespace tandem::collectives
