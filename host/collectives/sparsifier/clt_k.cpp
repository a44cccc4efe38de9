// SPDX-License-Identifier: Apache-2.0
//
// CLT-k: in step t the rank t mod n selects its exact top-k for all.
//
// Sends: the leader's k indices by broadcast; every rank's values there. No build-up; the other
// ranks wait for the leader. Clears all-global. Cost: as topk, on one rank. Source: Chen et al.,
// ScaleCom, NeurIPS 2020.
#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

class CltK final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kAllGlobal; }

  void reduce(StepContext& context) override {
    Group& group = context.group;
    const int leader = static_cast<int>(context.step % static_cast<std::uint64_t>(group.world()));
    Indices indices(std::min(target(context.step), num_values_));
    if (group.rank() == leader) {
      indices = timed_selection(context, [&] { return store_.candidates()->top(indices.size()); });
    }
    broadcast(group, std::as_writable_bytes(std::span(indices)), leader, options_.reduce);
    reduce_agreed(context, store_, indices, options_.reduce);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(group.world()));
    counts[static_cast<std::size_t>(leader)] = indices.size();
    count_selected(context, counts);
    keep_remainder(store_, indices, context.remainder);
  }
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_cltk(ResidualStore& store,
                                               const SparsifierOptions& options) {
  return std::make_unique<CltK>(store, options);
}

}  // namespace tandem::collectives
