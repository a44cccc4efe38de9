// SPDX-License-Identifier: Apache-2.0
//
// Draws the part of a count above 1, then makes the sum exact.
#include "tensor/sparse/generate/count_draws.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kBlock = 1 << 14;
constexpr std::uint64_t kSample = 1 << 13;
constexpr int kTuningRounds = 12;

// The distribution of what a count has above 1.
struct Excess {
  double mean = 0, deviation = 0;
  bool is_normal = false;
  double most = 0;

  std::uint32_t draw(Random& random) const {
    double value = mean;
    if (deviation > 0 && mean > 0) {
      if (is_normal) {
        value = mean + deviation * random.normal();
      } else {
        const double ratio = deviation / mean;
        const double variance = std::log1p(ratio * ratio);
        value = mean * std::exp(std::sqrt(variance) * random.normal() - variance / 2);
      }
    }
    value = std::floor(std::clamp(value, 0.0, most) + random.uniform());
    return static_cast<std::uint32_t>(std::min(value, most));
  }
};

// Makes mean and deviation of the drawn integers those of `wanted`.
Excess tuned(const Excess& wanted, std::uint64_t seed) {
  Excess trial = wanted;
  for (int round = 0; round < kTuningRounds; ++round) {
    Random random(seed);  // the same numbers in every round
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < kSample; ++i) {
      const double value = trial.draw(random);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(kSample);
    const double variance = squares / static_cast<double>(kSample) - mean * mean;
    if (mean <= 0 || variance <= 0) break;
    trial.mean = std::min(trial.mean * wanted.mean / mean, wanted.most);
    const double factor = wanted.deviation / std::sqrt(variance);
    trial.deviation *= std::clamp(factor, 0.5, 2.0);
  }
  return trial;
}

// Changes `amount` of the sum upwards (or downwards) in even steps; a count keeps its bounds.
void add_evenly(std::vector<std::uint32_t>& counts, std::uint64_t amount, std::uint64_t most,
                bool upwards) {
  while (amount > 0) {
    const auto room_of = [&](std::uint32_t count) { return upwards ? most - count : count - 1; };
    std::uint64_t open = 0;
    for (const std::uint32_t count : counts) open += room_of(count) > 0 ? 1 : 0;
    TANDEM_CHECK_OP(open, >, 0u);
    const std::uint64_t step = std::max<std::uint64_t>(amount / open, 1);
    // Fewer than the open ones: every (open / amount)-th of them.
    std::uint64_t phase = 0;
    const std::uint64_t chosen = std::min(amount, open);
    for (std::uint32_t& count : counts) {
      const std::uint64_t room = room_of(count);
      if (room == 0) continue;
      phase += chosen;
      if (phase < open) continue;
      phase -= open;
      const std::uint64_t change = std::min({step, room, amount});
      count = static_cast<std::uint32_t>(upwards ? count + change : count - change);
      amount -= change;
    }
  }
}

}  // namespace

std::vector<std::uint32_t> draw_counts(const CountRequest& request, std::uint64_t seed,
                                       ThreadPool& pool) {
  std::vector<std::uint32_t> counts(request.counts);
  if (request.counts == 0) return counts;
  const double average = static_cast<double>(request.sum) / static_cast<double>(request.counts);
  Excess wanted{average - 1, average * request.cv};
  wanted.is_normal = wanted.mean > 3 * wanted.deviation;
  const std::uint64_t most = std::min(request.most, request.sum);
  wanted.most = static_cast<double>(most - 1);
  const Excess excess = tuned(wanted, mix(seed, 1));
  const std::uint64_t blocks = (request.counts + kBlock - 1) / kBlock;
  std::vector<std::uint64_t> sums(blocks);
  pool.run(blocks, [&](std::size_t block) {
    Random random(mix(seed, block + 2));
    const std::uint64_t end = std::min((block + 1) * kBlock, request.counts);
    for (std::uint64_t i = block * kBlock; i < end; ++i) {
      counts[i] = 1 + excess.draw(random);
      sums[block] += counts[i];
    }
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  if (sum < request.sum) add_evenly(counts, request.sum - sum, most, true);
  if (sum > request.sum) add_evenly(counts, sum - request.sum, most, false);
  return counts;
}

}  // namespace tandem::sparse
