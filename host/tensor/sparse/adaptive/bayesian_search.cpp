// SPDX-License-Identifier: Apache-2.0
//
// Costs are taken relative to their mean and spread, so one kernel serves all units.
#include "tensor/sparse/adaptive/bayesian_search.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/split_mix.h"
#include "tensor/sparse/kernels/cholesky.h"

namespace tandem::sparse {
namespace {

constexpr double kLength = 0.3;  // of the kernel, in a cube of side 1
constexpr double kNoise = 0.01;  // variance of a measurement, of that of the costs
constexpr std::size_t kCandidates = 2000;

double kernel_of(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t d = 0; d < a.size(); ++d) square += (a[d] - b[d]) * (a[d] - b[d]);
  return std::exp(-square / (2 * kLength * kLength));
}

// The model of some evaluations.
class GaussianProcess {
 public:
  explicit GaussianProcess(std::span<const Evaluation> seen) : seen_(seen), weights_(seen.size()) {
    const auto n = static_cast<double>(seen.size());
    for (const Evaluation& each : seen) mean_ += each.cost / n;
    for (const Evaluation& each : seen) spread_ += std::pow(each.cost - mean_, 2) / n;
    spread_ = spread_ > 0 ? std::sqrt(spread_) : 1;
    std::vector<double> matrix(seen.size() * seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      for (std::size_t j = 0; j < seen.size(); ++j) {
        matrix[i * seen.size() + j] = kernel_of(seen[i].point, seen[j].point);
      }
      matrix[i * seen.size() + i] += kNoise;
      weights_[i] = (seen[i].cost - mean_) / spread_;
    }
    if (!factor_.factorise(std::move(matrix), seen.size())) {
      throw Error("tensor", "costs of a search are no finite numbers");
    }
    factor_.solve(weights_.data());
  }

  Prediction predict(std::span<const double> point) const {
    std::vector<double> near(seen_.size());
    for (std::size_t i = 0; i < seen_.size(); ++i) near[i] = kernel_of(seen_[i].point, point);
    std::vector<double> solved = near;
    factor_.solve(solved.data());
    double mean = 0, known = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      mean += near[i] * weights_[i];
      known += near[i] * solved[i];
    }
    return {mean_ + spread_ * mean, spread_ * std::sqrt(std::max(1 - known, 0.0))};
  }

 private:
  std::span<const Evaluation> seen_;
  std::vector<double> weights_;
  Cholesky factor_;
  double mean_ = 0, spread_ = 0;
};

double random_fraction(std::uint64_t& state) {
  return static_cast<double>(next_split_mix(state) >> 11) * 0x1p-53;
}

// Point i of a Halton sequence.
double radical_inverse(std::size_t i, std::size_t base) {
  double value = 0, part = 1;
  for (; i > 0; i /= base) {
    part /= static_cast<double>(base);
    value += part * static_cast<double>(i % base);
  }
  return value;
}

std::vector<double> next_point(std::span<const Evaluation> seen, std::size_t dimensions,
                               std::uint64_t& state) {
  const GaussianProcess model(seen);
  const double best = cheapest(seen).cost;
  std::vector<double> chosen, point(dimensions);
  double most = -1;
  for (std::size_t i = 0; i < kCandidates; ++i) {
    for (double& each : point) each = random_fraction(state);
    const double gain = expected_improvement(model.predict(point), best);
    if (gain <= most) continue;
    most = gain;
    chosen = point;
  }
  return chosen;
}

}  // namespace

Prediction predict(std::span<const Evaluation> evaluations, std::span<const double> point) {
  return GaussianProcess(evaluations).predict(point);
}

double expected_improvement(const Prediction& prediction, double best) {
  if (prediction.deviation <= 0) return std::max(best - prediction.mean, 0.0);
  const double z = (best - prediction.mean) / prediction.deviation;
  const double below = std::erfc(-z / std::sqrt(2.0)) / 2;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
  return prediction.deviation * (z * below + density);
}

const Evaluation& cheapest(std::span<const Evaluation> evaluations) {
  return *std::ranges::min_element(evaluations, {}, &Evaluation::cost);
}

std::vector<Evaluation> find_minimum(const SearchOptions& options,
                                     FunctionRef<double(std::span<const double> point)> cost) {
  constexpr std::size_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19};
  if (options.evaluations == 0) throw Error("tensor", "a search needs at least one evaluation");
  TANDEM_CHECK_OP(options.dimensions, <=, std::size(kBases));
  const std::size_t first = std::max<std::size_t>(options.evaluations / 3, 2);
  std::uint64_t state = options.seed;
  std::vector<Evaluation> seen;
  while (seen.size() < options.evaluations) {
    std::vector<double> point;
    if (seen.size() < first) {
      for (std::size_t d = 0; d < options.dimensions; ++d) {
        point.push_back(radical_inverse(seen.size() + 1, kBases[d]));
      }
    } else {
      point = next_point(seen, options.dimensions, state);
    }
    const double value = cost(point);
    if (!std::isfinite(value)) throw Error("tensor", "a cost of a search is no finite number");
    seen.push_back({std::move(point), value});
  }
  return seen;
}

}  // namespace tandem::sparse
