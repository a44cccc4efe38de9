// SPDX-License-Identifier: Apache-2.0
//
// The planted model's log odds have a variance of about 4, so that the best log loss is far below
// that of a constant.
#include "training/trainer/synthetic_samples.h"

#include <cmath>
#include <numbers>

#include "training/trainer/mixing.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kPlanted = 0x5eedc0de;  // the same for every run
constexpr std::uint64_t kHeldOut = 0x401d0a7e;

double normal(std::uint64_t bits) {
  const double radius = std::sqrt(-2 * std::log(unit(bits)));
  return radius * std::cos(2 * std::numbers::pi * unit(mixed(bits)));
}

class Synthetic final : public RecommenderSamples {
 public:
  Synthetic(const RecommenderConfig& config, std::uint64_t seed) : config_(config), seed_(seed) {}

  std::uint64_t size() const override { return 0; }
  void read(std::uint64_t number, RecommenderSample& to) const override {
    draw(mixed(seed_, number), to);
  }
  void read_in_order(std::uint64_t number, RecommenderSample& to) const override {
    draw(mixed(kHeldOut, number), to);
  }
  std::uint64_t checksum() const override { return seed_; }

 private:
  void draw(std::uint64_t key, RecommenderSample& to) const {
    double odds = 0;
    for (std::size_t at = 0; at < to.dense.size(); ++at) {
      const double value = normal(mixed(key, at));
      to.dense[at] = static_cast<float>(value);
      odds += value * normal(mixed(kPlanted, at)) / std::sqrt(config_.dense);
    }
    const auto bag = static_cast<std::size_t>(config_.bag);
    for (std::size_t at = 0; at < to.rows.size(); ++at) {
      const std::size_t table = at / bag;
      const double draw = unit(mixed(key, at + (1u << 20)));
      const auto row = static_cast<std::uint32_t>(config_.rows[table] * draw * draw * draw);
      to.rows[at] = row;
      const double weight = normal(mixed(mixed(kPlanted, table + (1u << 20)), row));
      odds += weight * std::sqrt(3.0 / static_cast<double>(to.rows.size()));
    }
    to.label = unit(mixed(key, 1u << 30)) < 1 / (1 + std::exp(-odds)) ? 1.0f : 0.0f;
  }

  RecommenderConfig config_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<RecommenderSamples> synthetic_samples(const RecommenderConfig& config,
                                                      std::uint64_t seed) {
  return std::make_unique<Synthetic>(config, seed);
}

}  // namespace tandem::training
