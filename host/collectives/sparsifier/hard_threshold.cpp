// SPDX-License-Identifier: Apache-2.0
//
// Hard threshold: selects every |accumulated| >= lambda. lambda never changes: the option, or 1 /
// (2 sqrt k). The density is not controlled.
//
// Sends: own entries, through the scheme. Clears own. Cost: one read.
#include "collectives/sparsifier/algorithms.h"

namespace tandem::collectives {
namespace {

class HardThreshold final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  void reduce(StepContext& context) override {
    const Indices own =
        timed_selection(context, [&] { return store_.find_at_least(lambda(context.step)); });
    send_own(context, own);
  }

 private:
  float lambda(std::uint64_t step) const {
    if (options_.hard_threshold > 0) return static_cast<float>(options_.hard_threshold);
    return static_cast<float>(0.5 / std::sqrt(static_cast<double>(target(step))));
  }
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_hard_threshold(ResidualStore& store,
                                                         const SparsifierOptions& options) {
  return std::make_unique<HardThreshold>(store, options);
}

}  // namespace tandem::collectives
