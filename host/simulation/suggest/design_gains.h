// SPDX-License-Identifier: Apache-2.0
//
// design_gains: the gain of each part of this design on a load, by switching off one part at a
// time.
//
// The first row has all parts: grouped-query attention, 8-bit KV, pages, one read of the weights,
// sequences split over units where that is faster, the compute device's own attention, and early
// queries. The second last row has none of them, like the published GPU with cards. The last row is
// the compute device without its units. If nothing can be served without a part, the row says why.
// Threads: any. Errors: those of simulate_serving() with all parts; Error("simulate", ...) for a
// measured machine, because its table has only one KV type and one head group.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulation/serving/simulate.h"

namespace tandem::simulation {

struct DesignRow {
  std::string what;  // "all parts", "without 8-bit KV", ...
  double tokens_per_s = 0;
  double of_all = 1;       // throughput divided by that of the first row
  std::string impossible;  // why the load cannot be served; both figures are then 0
};

// `options` gives model, weights and limits. `make_load` must return the same load every time.
// `longest`: tokens of its longest request, for which a contiguous cache reserves memory.
std::vector<DesignRow> design_gains(const MachineSpec& machine, const ServingOptions& options,
                                    const std::function<Load()>& make_load, int longest);

// The longest request of the load. Reads the load to its end.
int longest_request(Load load);

}  // namespace tandem::simulation
