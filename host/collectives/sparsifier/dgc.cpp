// SPDX-License-Identifier: Apache-2.0
//
// DGC: momentum correction (u = m u + g, v += u; v is selected from), momentum factor masking,
// clipping of the local gradient by clip_norm / sqrt n, and a warm-up of the density by epoch.
//
// The threshold comes from a strided sample with a random start, 1 % of the values or, where
// that has enough large ones, as little as 0.1 % (the paper's range). At most 10 adaptations: above
// 1.3 k entries the exact top-k among them; below 0.8 k the threshold times 0.8. Sends: own
// entries, through the scheme. Clears own, u and v (the store's velocity and residual). Sent +
// residual = the sums of u; with momentum 0 the gradients. Cost: one read, the sample, a read more
// for each two adaptations. Source: Lin et al., Deep Gradient Compression, ICLR 2018.
#include <algorithm>
#include <array>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"
#include "collectives/sparsifier/magnitude_rank.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::collectives {
namespace {

class Dgc final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  double density(std::uint64_t step) const override {
    if (options_.steps_per_epoch == 0) return options_.density;
    const std::uint64_t epoch = step / options_.steps_per_epoch;
    if (epoch >= kWarmUp.size() || options_.density == 0) return options_.density;
    return std::max(options_.density, kWarmUp[epoch]);
  }

  void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t,
                  int world) override {
    add.momentum = static_cast<float>(options_.momentum);
    add.scale = scale_of(gradient, world);
    store_.add(gradient, add, Measured::kNothing);
  }

  void reduce(StepContext& context) override {
    send_own(context,
             timed_selection(context, [&] { return select(context.step, context.group.rank()); }));
  }

 private:
  // The norm is that of the finite values.
  float scale_of(GradientPieces gradient, int world) {
    if (options_.clip_norm == 0) return 1;
    const double squares = store_.size_of(gradient).squares;
    const double most = options_.clip_norm / std::sqrt(static_cast<double>(world));
    return squares > most * most ? static_cast<float>(most / std::sqrt(squares)) : 1.0f;
  }

  // The magnitude above which a share `density` of the sample lies.
  float sampled_threshold(std::uint64_t step, int rank) {
    const std::uint64_t stride = stride_for(step);
    const std::uint64_t seed = sparse::mix(options_.seed, step);
    const std::uint64_t start = sparse::mix(seed, static_cast<std::uint64_t>(rank)) % stride;
    Indices places;
    places.reserve(num_values_ / stride + 1);
    for (std::uint64_t i = start; i < num_values_; i += stride) {
      places.push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<float> sample = store_.at(places);
    for (float& value : sample) value = std::fabs(value);
    const auto wanted = std::llround(density(step) * static_cast<double>(sample.size()));
    return nth_magnitude(sample, static_cast<std::uint64_t>(std::max(wanted, 1LL))).value;
  }

  std::uint64_t stride_for(std::uint64_t step) const {
    if (num_values_ <= kSampledWhole) return 1;
    return std::clamp<std::uint64_t>(target(step) / kLargeInSample, kStride, kLongestStride);
  }

  Indices select(std::uint64_t step, int rank) {
    const auto k = static_cast<double>(target(step));
    float threshold = sampled_threshold(step, rank);
    const auto found = store_.candidates();
    const bool sure = target(step) / stride_for(step) >= kLargeInSample;
    found->expect(threshold, sure ? threshold : threshold * kLower);
    for (int i = 0; i < kAdaptations; ++i) {
      found->expect(threshold, threshold * kLower);
      const auto count = static_cast<double>(found->count_at_least(threshold));
      if (count > 1.3 * k) return found->top(target(step));
      if (count >= 0.8 * k) break;
      threshold *= kLower;
    }
    return found->at_least(threshold);
  }

  static constexpr std::array kWarmUp = {0.25, 0.0625, 0.0156, 0.004};
  static constexpr int kAdaptations = 10;
  static constexpr float kLower = 0.8f;
  static constexpr std::uint64_t kStride = 100, kLongestStride = 1000;
  static constexpr std::uint64_t kLargeInSample = 400;  // a threshold is then within 5 %
  static constexpr std::uint64_t kSampledWhole = 10'000;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_dgc(ResidualStore& store,
                                              const SparsifierOptions& options) {
  return std::make_unique<Dgc>(store, options);
}

}  // namespace tandem::collectives
