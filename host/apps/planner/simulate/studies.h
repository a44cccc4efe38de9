// SPDX-License-Identifier: Apache-2.0
//
// The studies of `tandem simulate`: --reproduce, --suggest, --map and --design.
//
// They print to standard output. Errors: Error for a missing option, or for a model that does not
// fit.
#pragma once

#include "apps/planner/simulate/simulate_options.h"
#include "simulation/serving/load.h"

namespace tandem::apps {

simulation::Load load_of(const SimulateOptions& options);
// Returns the defaults that --load leaves open, such as "prompt=512". Empty if there are none, or
// with a trace.
std::string load_assumed(const SimulateOptions& options);

void run_reproduce(const SimulateOptions& options);
void run_suggest(const SimulateOptions& options);
void run_map(const SimulateOptions& options);
void run_design(const SimulateOptions& options);

// Errors: Error that names the file.
void write_file(const std::string& path, const std::string& text);

}  // namespace tandem::apps
