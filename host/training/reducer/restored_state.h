// SPDX-License-Identifier: Apache-2.0
//
// Restores a saved state into a reducer with the same parameters, in any order and treatment.
//
// A part whose parameters have another sparsifier now loses its thresholds; residuals stay.
// Threads: under the reducer's lock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "training/reducer/error_feedback.h"
#include "training/reducer/state_bytes.h"

namespace tandem::training {

// Error naming the first difference of model, rank or world.
void check_same_model(const ReducerState& state, const Parameters& parameters, int rank, int world);

// By the number of the parameter here.
std::map<std::uint32_t, Tensors> tensors_by_number(ReducerState& state,
                                                   const Parameters& parameters);

std::vector<RestoredPart> restored_parts(const ReducerState& state, const Parameters& parameters);

}  // namespace tandem::training
