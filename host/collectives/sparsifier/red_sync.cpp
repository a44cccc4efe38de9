// SPDX-License-Identifier: Apache-2.0
//
// RedSync: finds by bisection, between the mean and the largest magnitude, a threshold that k to 2
// k values reach.
//
// If there is no such threshold (few distinct values), it selects the exact top-k. Sends: own
// entries, through the scheme. Clears own. Cost: mean and largest come with the accumulation. A
// sample predicts where the bisection ends; one read selects there and counts for the thresholds
// before. If the prediction was wrong, there is another read: the k-th and the 2 k-th largest of
// about 2.2 k candidates tell which thresholds fit. Source: Fang et al., RedSync, JPDC 2019.
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
  float threshold_at(double ratio) const {
    const double mean = moments_.sum / static_cast<double>(moments_.count);
    return static_cast<float>(mean + ratio * (moments_.largest - mean));
  }

  Indices select(std::uint64_t k) const {
    auto guessed = select_by_sample(k);
    return guessed ? std::move(*guessed) : select_exactly(k);
  }

  // The result of select_exactly(), or nothing if the sample does not determine it.
  std::optional<Indices> select_by_sample(std::uint64_t k) const {
    const auto found = store_.candidates();
    const RawVector<float> sample = found->sample(kSampledEntries * num_values_ / k);
    const double wanted = static_cast<double>(k) * static_cast<double>(sample.size()) /
                          static_cast<double>(num_values_);
    Bracket bracket{.wanted = 2 * k};
    double low = 0, high = 1;
    for (int i = 0; i < kBisections && !sample.empty(); ++i) {
      const double ratio = (low + high) / 2;
      bracket.threshold = threshold_at(ratio);
      const auto count =
          static_cast<double>(count_at_least(sample.data(), sample.size(), bracket.threshold));
      if (count >= wanted && count < 2 * wanted) {
        Bracketed result = found->find_bracketed(bracket);
        const std::uint64_t size = result.places.size();
        if (size < k || size >= 2 * k || result.count_above >= k || !result.enough_below) break;
        return std::move(result.places);
      }
      (count < wanted ? bracket.above : bracket.below) = bracket.threshold;
      (count < wanted ? high : low) = ratio;
    }
    return std::nullopt;
  }

  Indices select_exactly(std::uint64_t k) const {
    const auto found = store_.candidates();
    found->collect(2 * k);
    // At least k values reach a threshold up to the k-th largest; 2 k do up to the 2 k-th.
    const float most = found->nth_largest(k);
    const float least = 2 * k <= num_values_ ? found->nth_largest(2 * k) : -1;
    double low = 0, high = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double ratio = (low + high) / 2;
      const float threshold = threshold_at(ratio);
      if (threshold <= most && threshold > least) return found->at_least(threshold);
      (threshold > most ? high : low) = ratio;
    }
    return found->top(k);
  }

  static constexpr int kBisections = 20;
  static constexpr std::uint64_t kSampledEntries = 256;  // expected among the k largest

  Moments moments_;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_redsync(ResidualStore& store,
                                                  const SparsifierOptions& options) {
  return std::make_unique<RedSync>(store, options);
}

}  // namespace tandem::collectives
