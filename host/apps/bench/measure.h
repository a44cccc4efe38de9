// SPDX-License-Identifier: Apache-2.0
//
// Samples of a row: warm up, then steps until there are enough of them or the time is up, with the
// devices' speed measured again between them.
//
// A sample is one step, or as many as take 20 ms. Its fraction is the limit's time at the speed
// measured last, over its own. In turns, before every sample a line is read from standard input, so
// that a script can let another program measure in between; a line "end", or the end of the input,
// ends the row. Threads: one. Errors: as the Rig's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/bench/rig.h"

namespace tandem::apps::bench {

struct MeasureOptions {
  int samples = 30;
  double seconds = 60;  // per row; at least kFewestSamples are taken
  bool turns = false;
};

inline constexpr int kFewestSamples = 3;

struct RowResult {
  Row row;
  std::string skipped;  // why nothing was measured, or empty
  Work work;
  std::vector<double> tokens_per_s;  // [samples]
  std::vector<double> fractions;     // [samples]; empty where the limit is unknown
  std::vector<Speeds> speeds;        // one per measurement of the devices
  Limit limit;                       // at the median speeds
  int steps_per_sample = 1;
};

// `on_sample` hears each sample's tokens per second, and "ready" as an empty vector, in turns only.
RowResult measure(Rig& rig, const Row& row, const model::Model& model,
                  const MeasureOptions& options,
                  const std::function<void(const RowResult&)>& on_sample);

// q in [0, 1] of at least one value; the nearest of them.
double quantile(std::vector<double> values, double q);

Speeds median_speeds(const std::vector<Speeds>& speeds);

}  // namespace tandem::apps::bench
