// SPDX-License-Identifier: Apache-2.0
//
// Supports are drawn over runs of units (run_units; usually 1), in a head and a tail region, each
// with its own density and overlap, and expanded to units at the end.
#include "tensor/sparse/generate/synthetic.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/sparse/generate/random_subset.h"

namespace tandem::sparse {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error("workload", what); }

constexpr int kMaxDraws = 100;

struct Region {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;  // entries of a rank
  double overlap = -1;      // of two ranks within the region; negative: independent

  double density() const {
    return size == 0 ? 0 : static_cast<double>(count) / static_cast<double>(size);
  }
};

struct Regions {
  Region head, tail;
};

// Splits the asked overlap between the regions: each at least what independent supports have.
void spread_overlap(Regions& regions, double overlap) {
  Region& head = regions.head;
  Region& tail = regions.tail;
  const auto total = static_cast<double>(head.count + tail.count);
  if (overlap < 0 || total == 0) return;
  if (overlap == 0 || overlap >= 1) {
    head.overlap = tail.overlap = std::min(overlap, 1.0);
    return;
  }
  const double head_share = static_cast<double>(head.count) / total;
  const double tail_share = 1 - head_share;
  const double least = head_share * head.density() + tail_share * tail.density();
  if (overlap < least * (1 - 1e-9)) {
    refuse("an overlap of " + std::to_string(overlap) + " is below the " + std::to_string(least) +
           " that independent supports of this density and skew have; 0 stands for disjoint ones");
  }
  head.overlap = std::max(overlap, head.density());
  if (tail_share > 0) {
    tail.overlap = std::max((overlap - head_share * head.overlap) / tail_share, tail.density());
    if (head_share > 0) head.overlap = (overlap - tail_share * tail.overlap) / head_share;
  }
}

Regions make_regions(const SyntheticOptions& options, std::uint64_t num_runs) {
  if (!(options.density >= 0 && options.density <= 1)) refuse("a density lies in [0, 1]");
  if (!(options.head_fraction > 0 && options.head_fraction <= 1 && options.head_share >= 0 &&
        options.head_share <= 1)) {
    refuse("head fraction and share lie in (0, 1] and [0, 1]");
  }
  const auto runs = static_cast<double>(num_runs);
  const auto count = static_cast<std::uint64_t>(std::llround(runs * options.density));
  Regions regions;
  regions.head.size = static_cast<std::uint64_t>(std::ceil(runs * options.head_fraction));
  regions.tail.begin = regions.head.size;
  regions.tail.size = num_runs - regions.head.size;
  regions.head.count = regions.tail.size == 0
                           ? count
                           : static_cast<std::uint64_t>(
                                 std::llround(static_cast<double>(count) * options.head_share));
  regions.tail.count = count - regions.head.count;
  if (regions.head.count > regions.head.size || regions.tail.count > regions.tail.size) {
    refuse("a density of " + std::to_string(options.density) +
           " leaves no room for this skew: a range would be more than full");
  }
  spread_overlap(regions, options.overlap);
  return regions;
}

void append_disjoint(const Region& region, int rank, int world, std::uint64_t seed, Random& random,
                     std::vector<std::uint32_t>& to) {
  const auto ranks = static_cast<std::uint64_t>(world);
  const std::uint64_t groups = region.size / ranks;
  if (region.count > groups) {
    refuse("disjoint supports need density x world of at most 1, in the busiest range too");
  }
  const std::size_t first = to.size();
  append_subset(0, groups, region.count, random, to);
  for (std::size_t at = first; at < to.size(); ++at) {
    const std::uint64_t place = (static_cast<std::uint64_t>(rank) + mix(seed, to[at])) % ranks;
    to[at] = static_cast<std::uint32_t>(region.begin + to[at] * ranks + place);
  }
}

void append_region(const Region& region, int rank, int world, std::uint64_t seed,
                   std::vector<std::uint32_t>& to) {
  if (region.count == 0) return;
  Random random(mix(seed, static_cast<std::uint64_t>(rank) + 1));
  if (region.overlap == 0) return append_disjoint(region, rank, world, seed, random, to);
  const auto pool_size = region.overlap < 0
                             ? region.size
                             : std::clamp(static_cast<std::uint64_t>(std::llround(
                                              static_cast<double>(region.count) / region.overlap)),
                                          region.count, region.size);
  if (pool_size == region.size) {
    return append_subset(region.begin, region.size, region.count, random, to);
  }
  std::vector<std::uint32_t> pool, chosen;
  pool.reserve(pool_size);
  Random shared(mix(seed, 0));
  append_subset(region.begin, region.size, pool_size, shared, pool);
  append_subset(0, pool_size, region.count, random, chosen);
  for (std::uint32_t place : chosen) to.push_back(pool[place]);
}

// Presence with probability 1 - exp(-scale (i + 1)^-exponent).
class ZipfPresence {
 public:
  ZipfPresence(std::uint64_t num_units, double density, double exponent)
      : num_units_(num_units), exponent_(exponent) {
    const double wanted = density * static_cast<double>(num_units);
    double low = 0, high = 1;
    scale_ = high;
    while (expected() < wanted * (1 - 1e-9) && high < 1e30) scale_ = high *= 4;
    for (int round = 0; round < 100; ++round) {
      scale_ = (low + high) / 2;
      (expected() < wanted ? low : high) = scale_;
    }
  }

  void append(Random& random, std::vector<std::uint32_t>& to) const {
    if (scale_ <= 0) return;
    double unit = 0;
    const auto end = static_cast<double>(num_units_);
    while (unit < end) {
      // Probabilities fall with the unit: skip by the probability of the present unit, then thin by
      // that of the reached one.
      const double bound = probability(unit);
      if (bound < 1) unit += std::floor(std::log(1 - random.uniform()) / std::log1p(-bound));
      if (unit >= end) return;
      if (random.uniform() * bound < probability(unit)) {
        to.push_back(static_cast<std::uint32_t>(unit));
      }
      unit += 1;
    }
  }

 private:
  double probability(double unit) const {
    return -std::expm1(-scale_ * std::pow(unit + 1, -exponent_));
  }

  // Exact for the first units, then by buckets 1 % wide.
  double expected() const {
    double sum = 0, unit = 0;
    const auto end = static_cast<double>(num_units_);
    while (unit < end) {
      const double width = std::min(end - unit, std::max(1.0, std::floor(unit / 100)));
      sum += width * probability(unit + (width - 1) / 2);
      unit += width;
    }
    return sum;
  }

  std::uint64_t num_units_;
  double exponent_;
  double scale_ = 0;
};

std::vector<std::uint32_t> draw_runs(const SyntheticOptions& options, std::uint64_t num_runs,
                                     int rank, int world, std::uint64_t seed) {
  std::vector<std::uint32_t> runs;
  if (options.zipf_exponent > 0) {
    if (!(options.density >= 0 && options.density < 1)) {
      refuse("a Zipf support's density is below 1");
    }
    const ZipfPresence presence(num_runs, options.density, options.zipf_exponent);
    const double expected = options.density * static_cast<double>(num_runs);
    Random random(mix(seed, static_cast<std::uint64_t>(rank) + 1));
    // The density is meant: a draw that misses it, as draws of few entries do, is made again.
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      runs.clear();
      presence.append(random, runs);
      const double miss = std::fabs(static_cast<double>(runs.size()) - expected);
      if (miss <= std::max(1.0, 0.01 * expected)) break;
    }
    return runs;
  }
  const Regions regions = make_regions(options, num_runs);
  runs.reserve(regions.head.count + regions.tail.count);
  append_region(regions.head, rank, world, mix(seed, 0x68656164), runs);
  append_region(regions.tail, rank, world, mix(seed, 0x7461696c), runs);
  return runs;
}

}  // namespace

void set_skew(SyntheticOptions& options, double skew, int num_ranges) {
  if (num_ranges < 1 || !(skew >= 1 && skew <= num_ranges)) {
    refuse("a skew over n ranges lies in [1, n]");
  }
  options.head_fraction = 1.0 / num_ranges;
  options.head_share = skew / num_ranges;
}

void set_first_eighth_skew(SyntheticOptions& options) {
  options.head_fraction = 0.125;
  options.head_share = 0.6;
}

void fill_values(SparseVector& vector, int rank, std::uint64_t seed) {
  const auto values = vector.values<float>();
  Random random(mix(seed ^ 0x76616c75u, static_cast<std::uint64_t>(rank)));
  for (float& value : values) {
    const std::uint64_t bits = random.next();
    const float magnitude = static_cast<float>(1 + (bits >> 54)) / 256.0f;
    value = (bits & 1) != 0 ? -magnitude : magnitude;
  }
}

SparseVector synthetic_gradient(const SyntheticOptions& options, int rank, int world,
                                std::uint64_t seed) {
  if (options.domain.wide()) refuse("synthetic gradients have at most 2^32 units");
  if (options.run_units < 1 || options.domain.num_units % options.run_units != 0) {
    refuse("a run's length divides the number of units");
  }
  if (world < 1 || rank < 0 || rank >= world) refuse("a rank lies in [0, world)");
  const auto runs =
      draw_runs(options, options.domain.num_units / options.run_units, rank, world, seed);
  SparseVector vector(options.domain, DType::kF32);
  vector.resize(runs.size() * options.run_units);
  const auto indices = vector.indices<std::uint32_t>();
  std::size_t at = 0;
  for (std::uint32_t run : runs) {
    const std::uint64_t first = run * options.run_units;
    for (std::uint64_t unit = 0; unit < options.run_units; ++unit) {
      indices[at++] = static_cast<std::uint32_t>(first + unit);
    }
  }
  fill_values(vector, rank, seed);
  return vector;
}

}  // namespace tandem::sparse
