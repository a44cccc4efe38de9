// SPDX-License-Identifier: Apache-2.0
//
// RedSync: a threshold between mean and largest magnitude, by bisection, that k to 2 k values
// reach.
//
// Where no such threshold is found (few distinct values), the exact top-k. Sends: own entries,
// through the scheme. Clears own. Cost: mean and largest come with the accumulation; one read; the
// bisection counts among about 2.2 k candidates. Source: Fang et al., RedSync, JPDC 2019.
#include "collectives/sparsifier/algorithms.h"

namespace tandem::collectives {
namespace {

class RedSync final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  void accumulate(std::span<const float> gradient, std::uint64_t, int) override {
    moments_ = accumulate_and_measure(gradient, Logarithms::kNo);
  }

  void reduce(StepContext& context) override {
    const Indices own = timed_selection(context, [&] { return select(target(context.step)); });
    send_own(context, own);
  }

 private:
  Indices select(std::uint64_t k) const {
    Candidates found = candidates();
    found.collect(2 * k);
    const double mean = moments_.sum / static_cast<double>(moments_.count);
    double low = 0, high = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double ratio = (low + high) / 2;
      const auto threshold = static_cast<float>(mean + ratio * (moments_.largest - mean));
      const std::uint64_t count = found.count_up_to_size(threshold);
      if (count >= k && count < 2 * k) return found.at_least(threshold);
      (count < k ? high : low) = ratio;
    }
    return found.top(k);
  }

  static constexpr int kBisections = 20;

  Moments moments_;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_redsync(std::uint64_t num_values,
                                                  const SparsifierOptions& options) {
  return std::make_unique<RedSync>(num_values, options);
}

}  // namespace tandem::collectives
