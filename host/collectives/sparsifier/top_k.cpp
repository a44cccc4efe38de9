// SPDX-License-Identifier: Apache-2.0
//
// Top-k: every rank selects the k largest magnitudes, exactly; the lower index of equal ones.
//
// Sends: its k indices, and its values at the union of all ranks' indices (build-up up to n).
// Clears all-global. With only_own_entries it sends and clears its own k entries. Cost: one read of
// the accumulated gradient, and the selection among about 1.1 k candidates.
#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

class TopK final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override {
    return options_.only_own_entries ? ClearingRule::kOwn : ClearingRule::kAllGlobal;
  }

  void reduce(StepContext& context) override {
    const Indices own =
        timed_selection(context, [&] { return store_.candidates()->top(target(context.step)); });
    if (options_.only_own_entries) {
      send_own(context, own);
      return;
    }
    const Indices all =
        reduce_union(context, store_, own, Selectors::kEveryRankAll, options_.reduce);
    keep_remainder(store_, all, context.remainder);
  }
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_topk(ResidualStore& store,
                                               const SparsifierOptions& options) {
  return std::make_unique<TopK>(store, options);
}

}  // namespace tandem::collectives
