// SPDX-License-Identifier: Apache-2.0
//
// Finds the least depths of streams with which a program passes, by runs with depths that are
// tried.
//
// In a first run all streams begin with depth 1 and grow where nothing else can continue: the
// depths at its end suffice. Then each stream that has grown begins again with 1 while all others
// keep their depths: what it grows to is the least depth beside these. A last run proves the
// result. None can be less while the others stay; another choice among crossing streams may exist.
// Pure but for the given function. Threads: any. Errors: Error("card", ...).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tandem::apps {

// Where a stream is made, and its name.
struct StreamPlace {
  std::string file;
  int line = 0;
  std::string stream;
  auto operator<=>(const StreamPlace&) const = default;
};

using StreamDepths = std::map<StreamPlace, std::uint64_t>;

struct DepthRun {
  bool passed = false;
  std::string problem;   // where it did not pass
  StreamDepths streams;  // those that were written to, with their stated depths; 0: none
  StreamDepths needs;    // those that have grown, with the depths they grew to
};

struct LeastDepth {
  StreamPlace place;
  std::uint64_t stated = 0;
  std::uint64_t depth = 1;
};

struct LeastDepths {
  std::vector<LeastDepth> streams;  // by place
  int runs = 0;
};

// `run` runs the program while the streams of `fixed` have these depths and all others grow from 1.
LeastDepths find_least_depths(const std::function<DepthRun(const StreamDepths& fixed)>& run);

}  // namespace tandem::apps
