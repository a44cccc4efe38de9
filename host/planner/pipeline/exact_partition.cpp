// SPDX-License-Identifier: Apache-2.0
//
// Greedy filling under a limit, and halving of the limit.
#include "planner/pipeline/exact_partition.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace tandem::planner {
namespace {

// The end of a stage that begins at `begin` and takes as many layers as the limits allow.
int filled_end(const StageLoads& loads, int begin, std::int64_t limit_ps) {
  int end = begin;
  while (end < loads.num_layers() && loads.fits(begin, end + 1, limit_ps)) ++end;
  return end;
}

bool is_enough(const StageLoads& loads, std::int64_t limit_ps) {
  int end = 0;
  for (int stage = 0; stage < loads.rules().num_stages; ++stage) {
    end = filled_end(loads, end, limit_ps);
  }
  return end == loads.num_layers();
}

// Greedy filling may need fewer stages: then the last ones get one layer each.
Cuts filled(const StageLoads& loads, std::int64_t limit_ps) {
  Cuts cuts;
  int end = 0;
  for (int left = loads.rules().num_stages - 1; left > 0; --left) {
    end = std::min(filled_end(loads, end, limit_ps), loads.num_layers() - left);
    cuts.push_back(end);
  }
  return cuts;
}

}  // namespace

bool has_partition(const StageLoads& loads) { return is_enough(loads, kMostPicoseconds); }

Cuts exact_partition(const StageLoads& loads) {
  if (!has_partition(loads)) {
    throw Error("balance", "no contiguous partition into " +
                               std::to_string(loads.rules().num_stages) + " stages keeps within " +
                               std::to_string(loads.rules().stage_bytes) +
                               " bytes per stage; give more memory or more stages");
  }
  std::int64_t least = loads.least_bottleneck_ps(), enough = kMostPicoseconds;
  while (least < enough) {
    const std::int64_t middle = least + (enough - least) / 2;
    if (is_enough(loads, middle)) {
      enough = middle;
    } else {
      least = middle + 1;
    }
  }
  return filled(loads, enough);
}

}  // namespace tandem::planner
