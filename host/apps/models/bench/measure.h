// SPDX-License-Identifier: Apache-2.0
//
// Measures a row: a warm-up, then steps until there are enough samples or the time limit is
// reached. The speed of the devices is measured again between samples.
//
// A sample is one step, or as many steps as take 20 ms. Its fraction is the time of the roofline
// limit, at the last measured speed, divided by the time of the sample. With --turns each line of
// standard input starts one sample, so that a script can run another program in between. A line
// "end", or the end of the input, ends the row. Threads: one. Errors: those of the Rig.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/models/bench/rig.h"

namespace tandem::apps::bench {

struct MeasureOptions {
  int samples = 30;
  double seconds = 60;  // time limit per row; at least kFewestSamples samples are taken
  bool turns = false;
};

inline constexpr int kFewestSamples = 3;

struct RowResult {
  Row row;
  std::string skipped;  // why nothing was measured; empty if it was
  Work work;
  std::vector<double> tokens_per_s;  // [samples]
  std::vector<double> fractions;     // [samples]; empty if the limit is unknown
  std::vector<Speeds> speeds;        // one per measurement of the devices
  Limit limit;                       // at the median speeds
  int steps_per_sample = 1;
};

// With --turns, `on_sample` is called with an empty vector when the row is ready, and then after
// each sample with its tokens per second.
RowResult measure(Rig& rig, const Row& row, const model::Model& model,
                  const MeasureOptions& options,
                  const std::function<void(const RowResult&)>& on_sample);

// The quantile q (0..1) of one or more values: the nearest of the values.
double quantile(std::vector<double> values, double q);

Speeds median_speeds(const std::vector<Speeds>& speeds);

}  // namespace tandem::apps::bench
