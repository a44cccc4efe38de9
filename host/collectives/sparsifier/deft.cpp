// SPDX-License-Identifier: Apache-2.0
//
// DEFT: layers get entries by their norms, and ranks get layers by the cost of selecting them.
//
// In step t rank r takes bin (t + r) mod n and selects the exact top entries of its fragments. The
// norms are all-reduced first, 8 bytes per fragment, so all ranks hold the same plan; the published
// code plans with each rank's own norms, and the sum of the entries drifts from k. Sends: the
// indices of the own fragments, those of whole fragments left out; then every rank its values at
// all of them. Clears all-global. Cost: norms come with the accumulation; one read of about N / n
// values. A fragment sends one entry at least. Source: arXiv 2307.03500.
#include <algorithm>
#include <numeric>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/deft_plan.h"
#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

class Deft final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kAllGlobal; }

  void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t,
                  int world) override {
    const std::vector<std::uint64_t> whole{num_values_};
    fragments_ = fragments_of(options_.layer_sizes.empty() ? whole : options_.layer_sizes, world);
    squares_ = store_.add_fragments(gradient, add, fragments_);
  }

  void reduce(StepContext& context) override {
    const int n = context.group.world();
    allreduce(context.group, DenseView::of(squares_), dense_options(options_.reduce));
    std::vector<double> norms(squares_.size());
    std::transform(squares_.begin(), squares_.end(), norms.begin(),
                   [](double squares) { return std::sqrt(squares); });
    const auto entries = entries_of(fragments_, norms, target(context.step));
    const auto bins = bins_of(fragments_, entries, n);
    const auto turn = static_cast<int>(context.step % static_cast<std::uint64_t>(n));
    const int own_bin = (turn + context.group.rank()) % n;
    Indices known;
    for (std::size_t at = 0; at < fragments_.size(); ++at) {
      if (entries[at] < fragments_[at].size()) continue;
      for (std::uint64_t i = fragments_[at].begin; i < fragments_[at].end; ++i) {
        known.push_back(static_cast<std::uint32_t>(i));
      }
    }
    const Indices own = timed_selection(context, [&] {
      Indices selected;
      for (std::size_t at = 0; at < fragments_.size(); ++at) {
        if (bins[at] != own_bin || entries[at] == fragments_[at].size()) continue;
        const Indices top =
            store_.candidates(fragments_[at].begin, fragments_[at].end)->top(entries[at]);
        selected.insert(selected.end(), top.begin(), top.end());
      }
      return selected;
    });
    const Indices all =
        reduce_union(context, store_, own, Selectors::kExclusive, options_.reduce, known);
    keep_remainder(store_, all, context.remainder);
  }

 private:
  std::vector<Fragment> fragments_;  // of the step
  std::vector<double> squares_;      // [fragments]
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_deft(ResidualStore& store,
                                               const SparsifierOptions& options) {
  return std::make_unique<Deft>(store, options);
}

}  // namespace tandem::collectives
