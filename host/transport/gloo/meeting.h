// SPDX-License-Identifier: Apache-2.0
//
// Meeting: lets ranks find each other in a store, at the start and after a failure.
//
// Keys are "<prefix>.<generation>.<what>". Every rank stores its world and its addresses, waits for
// those of the others, connects and greets. After a failure survivors of generation g register
// under g + 1. The rank that sees a complete list stores it; the first stored list is valid. Cost:
// one key per rank, one read per missing key every 5 ms. Errors: Error, TransportError. Threads:
// one.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "transport/gloo/gloo.h"
#include "transport/gloo/mesh.h"
#include "transport/gloo/store.h"

namespace tandem::transport::gloo {

// Connects `options.rank` with the others of generation `generation`.
std::unique_ptr<Mesh> meet(const Options& options, int generation);

// The old ranks, ascending, that form the next generation, including the caller. `dead`: old ranks
// whose connection ended; the caller waits for them at most half a second.
std::vector<int> agree_on_survivors(const Options& options, int next_generation,
                                    const std::set<int>& dead, Deadline deadline);

}  // namespace tandem::transport::gloo
