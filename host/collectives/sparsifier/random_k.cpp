// SPDX-License-Identifier: Apache-2.0
//
// Random-k: k places drawn from seed and step, the same on every rank. A control: at low density it
// does not converge.
//
// Sends: values only. Clears all-global. Cost: O(k); the gradient is not read.
#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::collectives {
namespace {

class RandomK final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kAllGlobal; }

  void reduce(StepContext& context) override {
    const Indices indices = timed_selection(context, [&] {
      sparse::Random random(sparse::mix(options_.seed, context.step));
      std::vector<std::uint32_t> places;
      sparse::append_subset(0, num_values_, std::min(target(context.step), num_values_), random,
                            places);
      return Indices(places.begin(), places.end());
    });
    reduce_agreed(context, store_, indices, options_.reduce);
    keep_remainder(store_, indices, context.remainder);
  }
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_randomk(ResidualStore& store,
                                                  const SparsifierOptions& options) {
  return std::make_unique<RandomK>(store, options);
}

}  // namespace tandem::collectives
