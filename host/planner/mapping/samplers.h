// SPDX-License-Identifier: Apache-2.0
//
// Samplers: four ways to look for bits of low energy in the QUBO of a mapping.
//
// They see the QUBO only: no flows and no distances. Every move exchanges the places of two tasks,
// which are four bits, so that every sample is a mapping. The energy of a move needs the fields of
// its bits, in O(1); a move that is made renews all fields. Annealing: one walk with a falling
// temperature. Tempering: walks at eight temperatures that exchange theirs. Quantum: path-integral
// Monte Carlo of a transverse field that falls; sixteen copies in a ring attract each other. Tabu:
// the best move that is allowed. Runs repeat with more sweeps until the time is over.
#pragma once

#include <string_view>

#include "planner/mapping/permutation_search.h"
#include "planner/mapping/qubo.h"

namespace tandem::planner {

enum class Sampler { kAnnealing, kTempering, kQuantum, kTabu };

struct SampledMapping {
  Permutation places;
  double energy = 0;
};

// "annealing", "tempering", "quantum", "tabu". Throws Error for another name.
Sampler sampler_of(std::string_view name);

// `qubo`: of encode_qubo(). The steps of the options are sweeps; one thread runs. Pure.
SampledMapping sample_mapping(const Qubo& qubo, Sampler sampler, const SearchOptions& options);

}  // namespace tandem::planner
