// SPDX-License-Identifier: Apache-2.0
//
// Halving with hypergeometric counts; small parts by selection sampling or by sorted draws.
#include "tensor/sparse/generate/random_subset.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/error.h"
#include "common/split_mix.h"

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kSmallPopulation = 64;
constexpr std::uint64_t kSmallCount = 12;

template <typename Place>
void select_by_scan(std::uint64_t begin, std::uint64_t population, std::uint64_t count,
                    Random& random, std::vector<Place>& to) {
  for (std::uint64_t place = 0; count > 0; ++place) {
    if (random.below(population - place) >= count) continue;
    to.push_back(static_cast<Place>(begin + place));
    --count;
  }
}

template <typename Place>
void select_by_draws(std::uint64_t begin, std::uint64_t population, std::uint64_t count,
                     Random& random, std::vector<Place>& to) {
  const auto first = static_cast<std::ptrdiff_t>(to.size());
  while (to.size() < static_cast<std::size_t>(first) + count) {
    const auto place = static_cast<Place>(begin + random.below(population));
    if (std::find(to.begin() + first, to.end(), place) == to.end()) to.push_back(place);
  }
  std::sort(to.begin() + first, to.end());
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) word = next_split_mix(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform());
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a ^ (b * 0xd6e8feb86659fd93u);
  next_split_mix(state);
  return next_split_mix(state);
}

template <typename Place>
void append_subset(std::uint64_t begin, std::uint64_t population, std::uint64_t count,
                   Random& random, std::vector<Place>& to) {
  TANDEM_CHECK_OP(count, <=, population);
  if (count == 0) return;
  if (count == population) {
    for (std::uint64_t place = 0; place < population; ++place) {
      to.push_back(static_cast<Place>(begin + place));
    }
    return;
  }
  if (population <= kSmallPopulation) return select_by_scan(begin, population, count, random, to);
  if (count <= kSmallCount) return select_by_draws(begin, population, count, random, to);
  const std::uint64_t half = population / 2;
  const auto total = static_cast<double>(population);
  const auto chosen = static_cast<double>(count);
  const double part = static_cast<double>(half) / total;
  const double variance = chosen * part * (1 - part) * (total - chosen) / (total - 1);
  const double drawn = std::round(chosen * part + std::sqrt(variance) * random.normal());
  const std::uint64_t rest = population - half;
  const auto least = static_cast<double>(count > rest ? count - rest : 0);
  const auto most = static_cast<double>(std::min(count, half));
  const auto left = static_cast<std::uint64_t>(std::clamp(drawn, least, most));
  append_subset(begin, half, left, random, to);
  append_subset(begin + half, rest, count - left, random, to);
}

template void append_subset(std::uint64_t, std::uint64_t, std::uint64_t, Random&,
                            std::vector<std::uint32_t>&);
template void append_subset(std::uint64_t, std::uint64_t, std::uint64_t, Random&,
                            std::vector<std::uint64_t>&);

}  // namespace tandem::sparse
