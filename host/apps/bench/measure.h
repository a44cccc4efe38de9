// SPDX-License-Identifier: Apache-2.0
//
// Takes the samples of a row: a warm-up, then steps until there are enough samples or the time is
// over. In between, the speed of the devices is measured again.
//
// A sample is one step, or as many steps as take 20 ms. Its fraction is the time of the roofline
// limit, at the speed measured last, divided by the time of the sample. With --turns, a line of
// standard input starts each sample, so that a script can run another program in between. A line
// "end", or the end of the input, ends the row. Threads: one. Errors: those of the Rig.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/bench/rig.h"

namespace tandem::apps::bench {

struct MeasureOptions {
  int samples = 30;
  double seconds = 60;  // time limit per row; at least kFewestSamples samples are taken
  bool turns = false;
};

inline constexpr int kFewestSamples = 3;

struct RowResult {
  Row row;
  std::string skipped;  // why nothing was measured, or empty
  Work work;
  std::vector<double> tokens_per_s;  // [samples]
  std::vector<double> fractions;     // [samples]; empty if the limit is unknown
  std::vector<Speeds> speeds;        // one per measurement of the devices
  Limit limit;                       // at the median speeds
  int steps_per_sample = 1;
};

// With --turns `on_sample` is called with an empty vector when the row is ready, and then with the
// tokens per second of each sample.
RowResult measure(Rig& rig, const Row& row, const model::Model& model,
                  const MeasureOptions& options,
                  const std::function<void(const RowResult&)>& on_sample);

// The quantile q in [0, 1] of at least one value. The result is the nearest of the values.
double quantile(std::vector<double> values, double q);

Speeds median_speeds(const std::vector<Speeds>& speeds);

}  // namespace tandem::apps::bench
