// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with other stream depths than the stated ones, so that `tandem card depths` can
// find the smallest sufficient depths.
//
// A trial is a folder; TANDEM_DEPTH_TRIAL passes its name to tandem-card. Its file `plan` has one
// line per stream with a fixed depth: DEPTH <tab> LINE <tab> STREAM <tab> FILE, where LINE and FILE
// say where the stream is made. All other streams begin with depth 1 and grow by one value whenever
// nothing else can continue. The runtime appends to the file `found`: "stream" with the stated
// depth (0: none) at the first write to a stream, and "needs" with its depth at the end of a run if
// that exceeds 1. Links between kernels and the streams of free-running kernels keep their depths.
// Threads: any. Errors: std::runtime_error naming file and line.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "fpga_hls/include/tandem_channel.h"
#include "fpga_hls/runtime/run_findings.h"

namespace tandem::hls_runtime {

// Values of Channel::trial. kDefaultDepthTrial: no trial; the stream states no depth and keeps that
// of hardware (UnitSettings::keeps_depths).
constexpr uint32_t kGrowingTrial = 1, kFixedTrial = 2, kDefaultDepthTrial = 3;

class DepthTrial {
 public:
  explicit DepthTrial(const std::string& folder);
  // Begins the trial of this process, for units that are made later.
  static void begin(const std::string& folder);
  // Null: there is none.
  static DepthTrial* current();

  // Gives the stream its depth. Called before its first value.
  void plan(tandem_hls::Channel& channel);
  // Records the depths to which streams have grown in a run.
  void record(const RunFindings& run);

 private:
  using Key = std::tuple<std::string, int, std::string>;  // file, line, stream

  void append(const char* what, uint64_t depth, const Key& key);

  const std::string found_file_;
  std::mutex mutex_;
  std::map<Key, uint32_t> fixed_;
  std::set<Key> seen_;
  std::map<Key, uint64_t> grown_;
};

}  // namespace tandem::hls_runtime
