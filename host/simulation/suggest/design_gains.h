// SPDX-License-Identifier: Apache-2.0
//
// design_gains: what each part of this design gains on a load, switched off in turn.
//
// The first row has all parts: grouped-query attention, 8-bit KV, pages, one read of the weights,
// pages of a sequence split over units where that is faster, the compute device's own attention,
// early queries. The last but one has none of them, as the published GPU with cards; the last is
// the compute device without its units. A part without which nothing can be served says why.
// Threads: any. Errors: those of simulate_serving() with all parts; Error("simulate", ...) for a
// measured machine, whose table has one KV type and one head group.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulation/serving/simulate.h"

namespace tandem::simulation {

struct DesignRow {
  std::string what;  // "all parts", "without 8-bit KV", ...
  double tokens_per_s = 0;
  double of_all = 1;       // over the first row's
  std::string impossible;  // why the load cannot be served so; both figures are 0 then
};

// `options` gives model, weights and limits. `make_load` gives the same load every time.
// `longest`: tokens of its longest request, which a contiguous cache sets aside.
std::vector<DesignRow> design_gains(const MachineSpec& machine, const ServingOptions& options,
                                    const std::function<Load()>& make_load, int longest);

// Of all requests; reads the load to its end.
int longest_request(Load load);

}  // namespace tandem::simulation
