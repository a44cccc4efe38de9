// SPDX-License-Identifier: Apache-2.0
//
// MiCRO: in step t rank r selects from partition (t + r) mod n only, by a common threshold that
// follows the counts; at least one entry.
//
// Sends: the indices of the own partition (disjoint: no build-up), then every rank its values at
// all of them. Clears all-global. Cost: one read of N / n values. An exclusive selection has n
// times fewer distinct entries than n ranks that select k each. Source: arXiv 2310.00967.
#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"
#include "collectives/sparsifier/threshold_control.h"

namespace tandem::collectives {
namespace {

class Micro final : public SparsifierAlgorithm {
 public:
  Micro(ResidualStore& store, const SparsifierOptions& options)
      : SparsifierAlgorithm(store, options), control_(options.published_control) {}

  ClearingRule clearing_rule() const override { return ClearingRule::kAllGlobal; }

  void reduce(StepContext& context) override {
    const std::uint64_t k = target(context.step);
    if (control_.measures(context.step)) {
      const double own =
          timed_selection(context, [&] { return store_.candidates()->nth_largest(k); });
      control_.seed(context, own, options_.reduce);
    }
    const bool seeded = control_.seeded();
    const auto n = static_cast<std::uint64_t>(context.group.world());
    const std::uint64_t part =
        (context.step % n + static_cast<std::uint64_t>(context.group.rank())) % n;
    const PartitionSelection own = timed_selection(context, [&] {
      return select_at_least_one(store_, num_values_ * part / n, num_values_ * (part + 1) / n,
                                 control_);
    });
    context.note = own.steep;
    const Indices all =
        reduce_union(context, store_, own.indices, Selectors::kExclusive, options_.reduce);
    keep_remainder(store_, all, context.remainder);
    if (seeded) control_.follow(all.size(), sum_of(context.notes), k);
  }

  void save(SparsifierState& state) const override { control_.save(state); }

  void load(const SparsifierState& state) override { control_.load(state); }

 private:
  ThresholdControl control_;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_micro(ResidualStore& store,
                                                const SparsifierOptions& options) {
  return std::make_unique<Micro>(store, options);
}

}  // namespace tandem::collectives
