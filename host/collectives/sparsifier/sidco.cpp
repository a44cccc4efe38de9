// SPDX-License-Identifier: Apache-2.0
//
// SIDCo: the threshold of a distribution that is fitted to the magnitudes, in up to S stages.
//
// The first stage leaves a quarter of the values; later stages leave equal fractions of the rest.
// Every 5 steps the mean of entries / k decides: above 1.2 one stage less, below 0.8 one more; 1 <=
// S <= ceil(log2 (1 / density)). If values allow no fit (all zero, all equal), it selects the exact
// top-k. Sends: own entries, through the scheme. Clears own. Cost: the moments come with the
// accumulation; one read; with several stages the quarter is written and read again S times.
// Source: see sidco_fits.h.
#include <algorithm>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/sidco_fits.h"

namespace tandem::collectives {
namespace {

constexpr double kFirstTail = 0.25;
constexpr std::uint64_t kStepsPerReview = 5;
constexpr double kTooMany = 1.2, kTooFew = 0.8;

class Sidco final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t,
                  int) override {
    const bool logarithms = options_.sidco_fit == SidcoFit::kGamma;
    moments_ = store_.add(gradient, add, logarithms ? Measured::kLogarithms : Measured::kMoments);
  }

  void reduce(StepContext& context) override {
    const std::uint64_t k = target(context.step);
    const Indices own = timed_selection(context, [&] { return select(k); });
    send_own(context, own);
    review(static_cast<double>(own.size()) / static_cast<double>(k));
  }

  void save(SparsifierState& state) const override {
    state.numbers["stages"] = {static_cast<double>(stages_), ratio_sum_,
                               static_cast<double>(num_ratios_)};
  }

  void load(const SparsifierState& state) override {
    const std::vector<double>& stages = numbers_of(state, "stages", 3);
    stages_ = std::clamp(static_cast<int>(stages[0]), 1, most_stages());
    ratio_sum_ = stages[1];
    num_ratios_ = static_cast<std::uint64_t>(stages[2]);
  }

 private:
  int most_stages() const {
    if (options_.density >= kFirstTail || options_.density == 0) return 1;
    return static_cast<int>(std::ceil(std::log(options_.density) / std::log(0.5)));
  }

  Indices select(std::uint64_t k) const {
    const auto usable = [](double threshold) { return std::isfinite(threshold) && threshold > 0; };
    const auto found = store_.candidates();
    const double density = options_.density;
    double threshold =
        fitted_threshold(options_.sidco_fit, moments_, stages_ == 1 ? density : kFirstTail);
    if (!usable(threshold)) return found->top(k);
    const double tail = std::pow(density / kFirstTail, 1.0 / std::max(1, stages_ - 1));
    for (int stage = 1; stage < stages_; ++stage) {
      const auto floor = static_cast<float>(threshold);
      const Survivors survivors = found->survivors(floor);
      if (survivors.moments.count == 0) break;
      const double next =
          fitted_tail_threshold(options_.sidco_fit, survivors.moments, survivors.smallest, tail);
      if (!usable(next)) break;
      threshold = next;
    }
    Indices own = found->at_least(static_cast<float>(threshold));
    return own.empty() ? found->top(1) : own;
  }

  void review(double ratio) {
    ratio_sum_ += ratio;
    if (++num_ratios_ < kStepsPerReview) return;
    const double mean = ratio_sum_ / static_cast<double>(num_ratios_);
    const int change = mean > kTooMany ? -1 : mean < kTooFew ? 1 : 0;
    stages_ = std::clamp(stages_ + change, 1, most_stages());
    ratio_sum_ = 0;
    num_ratios_ = 0;
  }

  Moments moments_;
  int stages_ = 1;
  double ratio_sum_ = 0;
  std::uint64_t num_ratios_ = 0;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_sidco(ResidualStore& store,
                                                const SparsifierOptions& options) {
  return std::make_unique<Sidco>(store, options);
}

}  // namespace tandem::collectives
