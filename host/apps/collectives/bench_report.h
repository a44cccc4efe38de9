// SPDX-License-Identifier: Apache-2.0
//
// Holds and prints the results of `tandem allreduce-bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/collectives/bench_options.h"
#include "trace/communication_matrix.h"

namespace tandem::apps {

struct SchemeResult {
  std::string scheme;           // as requested
  std::string chosen;           // the scheme that auto chose, otherwise equal to `scheme`
  std::string refusal;          // why the scheme did not run; the other members are then empty
  std::vector<double> seconds;  // [samples]: times of the slowest rank
  std::uint64_t steps = 0;      // steps per call of the busiest rank
  trace::CommunicationMatrix traffic{1};  // traffic of one call
  // seconds per call on the busiest rank, by the card's time model
  double aggregation_modelled_s = 0;
  std::uint64_t fallbacks = 0;  // aggregations that ran on the CPU instead of the device
  std::string explanation;
};

struct BenchResult {
  std::string transport;
  int world = 0;
  std::uint64_t num_units = 0;
  std::uint32_t width = 1;
  double density = 0;        // mean over ranks
  double union_density = 0;  // density of the sum
  std::vector<SchemeResult> schemes;
};

void print_result(const BenchOptions& options, const BenchResult& result);

// Writes options.matrix + "-<scheme>.csv" and ".svg". Throws Error naming the file.
void write_matrices(const BenchOptions& options, const BenchResult& result);

}  // namespace tandem::apps
