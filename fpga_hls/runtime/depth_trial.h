// SPDX-License-Identifier: Apache-2.0
//
// Depths that streams have in one run of a program, in place of the stated ones: so `tandem card
// depths` finds the least that suffice.
//
// A folder holds it; tandem-card takes its name from TANDEM_DEPTH_TRIAL. Its file `plan` has a line
// DEPTH <tab> LINE <tab> STREAM <tab> FILE per stream whose depth is fixed; LINE and FILE are where
// it is made. All other streams begin with depth 1 and grow by one value whenever nothing else can
// continue. The runtime appends to the file `found`: "stream" with the stated depth (0: none) when
// one is first written to, and "needs" with the depth that it had at the end of a run, where that
// is more than 1. Links between kernels and the streams of free-running kernels keep their depths.
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

// Values of Channel::trial.
constexpr uint32_t kGrowingTrial = 1, kFixedTrial = 2;

class DepthTrial {
 public:
  explicit DepthTrial(const std::string& folder);
  // The trial of this process, of units that are made after begin(); null: there is none.
  static void begin(const std::string& folder);
  // Null: there is none.
  static DepthTrial* current();

  // Gives the stream its depth. Called before its first value.
  void plan(tandem_hls::Channel& channel);
  // The depths that streams have grown to in a run.
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
