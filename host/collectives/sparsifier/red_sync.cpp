// SPDX-License-Identifier: Apache-2.0
//
// RedSync: a threshold between mean and largest magnitude, by bisection, that k to 2 k values
// reach.
//
// Where no such threshold is found (few distinct values), the exact top-k. Sends: own entries,
// through the scheme. Clears own. Cost: mean and largest come with the accumulation; one read; the
// k-th and the 2 k-th largest of about 2.2 k candidates tell which thresholds fit. Source: Fang et
// al., RedSync, JPDC 2019.
#include "collectives/sparsifier/algorithms.h"

namespace tandem::collectives {
namespace {

class RedSync final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t,
                  int) override {
    moments_ = store_.add(gradient, add, Measured::kMoments);
  }

  void reduce(StepContext& context) override {
    const Indices own = timed_selection(context, [&] { return select(target(context.step)); });
    send_own(context, own);
  }

 private:
  Indices select(std::uint64_t k) const {
    const auto found = store_.candidates();
    found->collect(2 * k);
    // At least k values reach a threshold up to the k-th largest; 2 k do up to the 2 k-th.
    const float most = found->nth_largest(k);
    const float least = 2 * k <= num_values_ ? found->nth_largest(2 * k) : -1;
    const double mean = moments_.sum / static_cast<double>(moments_.count);
    double low = 0, high = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double ratio = (low + high) / 2;
      const auto threshold = static_cast<float>(mean + ratio * (moments_.largest - mean));
      if (threshold <= most && threshold > least) return found->at_least(threshold);
      (threshold > most ? high : low) = ratio;
    }
    return found->top(k);
  }

  static constexpr int kBisections = 20;

  Moments moments_;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_redsync(ResidualStore& store,
                                                  const SparsifierOptions& options) {
  return std::make_unique<RedSync>(store, options);
}

}  // namespace tandem::collectives
