// SPDX-License-Identifier: Apache-2.0
//
// GaussianK: the threshold that a normal distribution of the same mean and deviation has for the
// density, then up to 3 rounds: times 0.5 below 2 k / 3 entries, times 1.5 above 4 k / 3.
//
// Sends: own entries, through the scheme. Clears own. A gradient without spread has no such
// threshold: the exact top-k. Cost: mean and deviation come with the accumulation; one read for
// about 2.2 k candidates, and one more if the last threshold leaves more. Source: Shi et al.,
// Understanding top-k sparsification, 2019.
#include "collectives/sparsifier/algorithms.h"

namespace tandem::collectives {
namespace {

class GaussianK final : public SparsifierAlgorithm {
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
  // The x with P(X <= x) = 1 - tail for a standard normal X; tail in (0, 0.5).
  static double normal_quantile(double tail) {
    double low = 0, high = 40;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(middle / std::sqrt(2.0)) > tail ? low : high) = middle;
    }
    return low;
  }

  Indices select(std::uint64_t k) const {
    const auto n = static_cast<double>(moments_.count), goal = static_cast<double>(k);
    const double mean = moments_.signed_sum / n;
    const double deviation = std::sqrt(std::max(0.0, moments_.squares / n - mean * mean));
    auto threshold = static_cast<float>(mean + deviation * normal_quantile(options_.density / 2));
    const auto found = store_.candidates();
    if (!(threshold > 0) || !std::isfinite(threshold)) return found->top(k);
    found->collect(2 * k);  // the last threshold seldom leaves more
    for (int round = 0; round < kRounds; ++round) {
      const auto count = static_cast<double>(found->count_up_to_size(threshold));
      if (count >= 2 * goal / 3 && count <= 4 * goal / 3) break;
      threshold *= count < 2 * goal / 3 ? 0.5f : 1.5f;
    }
    Indices own = found->at_least(threshold);
    return own.empty() ? found->top(k) : own;
  }

  static constexpr int kRounds = 3;

  Moments moments_;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_gaussiank(ResidualStore& store,
                                                    const SparsifierOptions& options) {
  return std::make_unique<GaussianK>(store, options);
}

}  // namespace tandem::collectives
