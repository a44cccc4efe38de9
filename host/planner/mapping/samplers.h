// SPDX-License-Identifier: Apache-2.0
//
// sample_mapping: four methods that search for bits of low energy in the QUBO of a mapping.
//
// Samplers see only the QUBO, not flows and distances. Every move exchanges the places of two tasks
// and so changes four bits; every sample is therefore a mapping. The energy of a move costs O(1);
// an accepted move updates the fields of all bits. Annealing: one walk with a falling temperature.
// Tempering: walks at eight temperatures that exchange their temperatures. Quantum: path-integral
// Monte Carlo with a falling transverse field and sixteen coupled copies in a ring. Tabu: the best
// allowed move. Runs repeat with more sweeps until the deadline.
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

// `qubo` comes from encode_qubo(). The steps of the options are sweeps; the search uses one thread.
// Pure.
SampledMapping sample_mapping(const Qubo& qubo, Sampler sampler, const SearchOptions& options);

}  // namespace tandem::planner
