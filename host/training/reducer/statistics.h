// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a reducer: totals, and figures of each bucket.
//
// A bucket is a list of parameters. Buckets that are no longer in use stay in the statistics. After
// kMostBuckets, new ones are not recorded. Densities are shares of the sparsified values. Threads:
// any; one lock.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "training/reducer/call_queue.h"
#include "training/reducer/calls.h"
#include "training/reducer/sparsity_trial.h"

namespace tandem::training {

struct BucketStatistics {
  std::vector<std::string> parameters;
  bool rows = false;  // calls of submit_rows()
  std::uint64_t num_values = 0;
  std::uint64_t sparsified_values = 0;
  std::uint64_t calls = 0;
  std::uint64_t dense_calls = 0;  // summed densely: by `exact`, a warm-up, a trial or f64
  std::uint64_t skipped_calls = 0;
  std::uint64_t clipped_calls = 0;
  std::uint64_t failed_calls = 0;
  double density_asked = 1;      // of the last call that sparsified
  double density_sent = 1;       // likewise
  double mean_density_sent = 1;  // over those calls
  double build_up = 1;  // last call: entries of the mean / entries that the ranks selected together
  double residual_norm = 0;  // of its parameters, when the statistics are read
  std::uint64_t bytes_sent = 0;
  double seconds = 0;
  double hidden_seconds = 0;   // while the caller computes (HiddenUntil)
  double exposed_seconds = 0;  // the rest of `seconds`
  double select_seconds = 0;
};

struct ReducerStatistics {
  std::uint64_t steps = 0;
  int rank = 0;
  int world = 1;
  double residual_norm = 0;
  std::uint64_t bytes_sent = 0;
  double seconds = 0;
  double hidden_seconds = 0;
  double exposed_seconds = 0;
  std::uint64_t warmup_steps = 0;         // as given, or chosen by the density
  SparsityTrial::Outcome trial;           // of the sparsifier auto
  std::vector<BucketStatistics> buckets;  // in the order of their first calls
};

// Identifies the bucket of a call.
struct BucketName {
  std::vector<std::string> parameters;
  bool rows = false;
  std::uint64_t num_values = 0;

  bool operator<(const BucketName& other) const {
    return rows != other.rows ? rows < other.rows : parameters < other.parameters;
  }
};

class StatisticsTable {
 public:
  static constexpr std::size_t kMostBuckets = 4096;

  void record(const BucketName& bucket, const CallResult& result, std::uint64_t bytes_sent,
              const CallTimes& times, bool failed);
  // Returns the statistics without residual norms, rank, world and steps.
  ReducerStatistics snapshot() const;

 private:
  struct Entry {
    BucketStatistics figures;
    std::uint64_t sparsified_calls = 0;
    double density_sent_sum = 0;
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<BucketName, std::size_t> places_;
};

// The sum of squares of a parameter's "residual".
double residual_squares(const Tensors& tensors);
// Fills the norms from sums of squares by parameter name.
void add_residual_norms(ReducerStatistics& to, const std::map<std::string, double>& squares);

// One JSON object.
std::string to_json(const ReducerStatistics& statistics);

}  // namespace tandem::training
