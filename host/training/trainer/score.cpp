// SPDX-License-Identifier: Apache-2.0
//
// Ranks of equal scores are their mean.
#include "training/trainer/score.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tandem::training {

double mean_log_loss(std::span<const float> odds, std::span<const float> labels) {
  double sum = 0;
  for (std::size_t at = 0; at < odds.size(); ++at) {
    const double x = labels[at] > 0.5f ? odds[at] : -static_cast<double>(odds[at]);
    sum += x > 0 ? std::log1p(std::exp(-x)) : std::log1p(std::exp(x)) - x;
  }
  return odds.empty() ? 0 : sum / static_cast<double>(odds.size());
}

double area_under_curve(std::span<const float> odds, std::span<const float> labels) {
  if (!std::ranges::all_of(odds, [](float value) { return std::isfinite(value); })) return 0.5;
  std::vector<std::size_t> order(odds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return odds[at]; });
  double ranks = 0, clicks = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double here = 0;
    for (; end < order.size() && odds[order[end]] == odds[order[begin]]; ++end) {
      here += labels[order[end]];
    }
    ranks += here * (static_cast<double>(begin + end + 1) / 2);
    clicks += here;
    begin = end;
  }
  const double others = static_cast<double>(order.size()) - clicks;
  if (clicks == 0 || others == 0) return 0.5;
  return (ranks - clicks * (clicks + 1) / 2) / (clicks * others);
}

}  // namespace tandem::training
