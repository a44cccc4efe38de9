// SPDX-License-Identifier: Apache-2.0
//
// Q(a, x) by the series of P below x = a + 1 and by Lentz's continued fraction above. The inverse
// bisects: Q falls in x.
#include "collectives/sparsifier/sidco_fits.h"

#include <cmath>

namespace tandem::collectives {
namespace {

constexpr int kGammaTerms = 1000;
constexpr double kGammaPrecision = 1e-15;

double exponential_threshold(double mean, double tail) { return -mean * std::log(tail); }

double pareto_threshold(double mean, double variance, double tail) {
  if (!(variance > 0)) return 0;
  const double ratio = mean * mean / variance;
  const double scale = mean / 2 * (ratio + 1), shape = (ratio - 1) / 2;
  if (std::fabs(shape) < 1e-9) return -scale * std::log(tail);
  return scale * (1 - std::exp(shape * std::log(tail))) / shape;
}

double gamma_threshold(const Moments& moments, double mean, double tail) {
  if (moments.positive == 0) return 0;
  const double positive = static_cast<double>(moments.positive);
  const double share = positive / static_cast<double>(moments.count);
  const double spread = std::log(mean / share) - moments.log_sum / positive;
  if (!(spread > 0) || !(tail < share)) return 0;
  const double root = std::sqrt((spread - 3) * (spread - 3) + 24 * spread);
  const double shape = (3 - spread + root) / (12 * spread);
  return mean / share / shape * inverse_upper_gamma(shape, tail / share);
}

double mean_of(const Moments& moments) { return moments.sum / static_cast<double>(moments.count); }

double mean_square_of(const Moments& moments) {
  return moments.squares / static_cast<double>(moments.count);
}

}  // namespace

double upper_gamma(double shape, double x) {
  if (x <= 0) return 1;
  int sign = 0;  // lgamma() would write it to a global, and every rank's thread comes here
  const double factor = std::exp(shape * std::log(x) - x - lgamma_r(shape, &sign));
  if (x < shape + 1) {
    double term = 1 / shape, sum = term;
    for (int i = 1; i < kGammaTerms && term > kGammaPrecision * sum; ++i) {
      term *= x / (shape + i);
      sum += term;
    }
    return 1 - factor * sum;
  }
  double b = x + 1 - shape, c = 1e300, d = 1 / b, fraction = d;
  for (int i = 1; i < kGammaTerms; ++i) {
    const double numerator = -i * (i - shape);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= c * d;
    if (std::fabs(c * d - 1) < kGammaPrecision) break;
  }
  return factor * fraction;
}

double inverse_upper_gamma(double shape, double tail) {
  double low = 0, high = shape + 1;
  while (upper_gamma(shape, high) > tail && high < 1e6) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (upper_gamma(shape, middle) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::map<std::string, SidcoFit> sidco_fit_names() {
  return {{"exponential", SidcoFit::kExponential},
          {"generalised_pareto", SidcoFit::kGeneralisedPareto},
          {"gamma", SidcoFit::kGamma}};
}

double fitted_threshold(SidcoFit fit, const Moments& moments, double tail) {
  const double mean = mean_of(moments);
  if (fit == SidcoFit::kExponential) return exponential_threshold(mean, tail);
  if (fit == SidcoFit::kGamma) return gamma_threshold(moments, mean, tail);
  return pareto_threshold(mean, mean_square_of(moments) - mean * mean, tail);
}

double fitted_tail_threshold(SidcoFit fit, const Moments& survivors, double smallest, double tail) {
  const double mean = mean_of(survivors);
  const double excess = mean - smallest;
  if (fit == SidcoFit::kExponential) return smallest + exponential_threshold(excess, tail);
  return smallest + pareto_threshold(excess, mean_square_of(survivors) - mean * mean, tail);
}

}  // namespace tandem::collectives
