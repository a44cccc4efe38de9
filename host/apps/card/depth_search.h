// SPDX-License-Identifier: Apache-2.0
//
// Finds the smallest stream depths with which a program passes. It runs the program with trial
// depths.
//
// In the first run all streams start with depth 1. A stream grows if nothing else can continue. The
// depths at its end suffice. Then, for each stream that has grown, one run starts this stream with
// 1 again while all others keep their depths; its final depth is the smallest for these depths of
// the others. A last run verifies the result. No depth can be smaller while the others stay, but
// streams that depend on each other may have another solution. Pure except for the given function.
// Threads: any. Errors: Error("card", ...).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tandem::apps {

// A stream: the place of its declaration, and its name.
struct StreamPlace {
  std::string file;
  int line = 0;
  std::string stream;
  auto operator<=>(const StreamPlace&) const = default;
};

using StreamDepths = std::map<StreamPlace, std::uint64_t>;

struct DepthRun {
  bool passed = false;
  std::string problem;  // why it did not pass
  // the streams that were written to, with their declared depths; 0: none declared
  StreamDepths streams;
  StreamDepths needs;  // the streams that have grown, with their final depths
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

// `run` runs the program with these depths for the streams in `fixed`. All others grow from 1.
LeastDepths find_least_depths(const std::function<DepthRun(const StreamDepths& fixed)>& run);

}  // namespace tandem::apps
