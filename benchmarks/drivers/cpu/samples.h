// SPDX-License-Identifier: Apache-2.0
//
// Samples of a figure and its JSON line: median, 10th and 90th percentile.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::bench {

inline constexpr int kSamples = 40;

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

inline double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Rates of one piece of work, each with the roof (the most that the device reaches) measured just
// before it.
struct RoofSamples {
  std::vector<double> rates, roofs;  // [kSamples], 1e9 per second
  std::vector<double> fractions;     // rate / roof
};

// amount: bytes or operations of work(sample). roof(): as many per second.
template <typename Roof, typename Work>
RoofSamples sample_against(double amount, const Roof& roof, const Work& work) {
  constexpr int kWarmUps = 3;
  RoofSamples samples;
  for (int sample = -kWarmUps; sample < kSamples; ++sample) {
    const double most = roof();
    const double rate = amount / seconds([&] { work(sample); });
    if (sample < 0) continue;
    samples.rates.push_back(rate * 1e-9);
    samples.roofs.push_back(most * 1e-9);
    samples.fractions.push_back(rate / most);
  }
  return samples;
}

// extra: further members of the line.
inline void print_figure(const std::string& name, const std::vector<double>& values,
                         const std::string& unit, nlohmann::ordered_json extra) {
  nlohmann::ordered_json line = {{"name", name},
                                 {"median", quantile(values, 0.5)},
                                 {"p10", quantile(values, 0.1)},
                                 {"p90", quantile(values, 0.9)},
                                 {"unit", unit},
                                 {"samples", values.size()}};
  line.update(extra);
  std::cout << line.dump() << std::endl;
}

}  // namespace tandem::bench
