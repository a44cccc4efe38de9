// SPDX-License-Identifier: Apache-2.0
//
// Restores a saved state into a reducer with the same parameters. Their order and treatment may
// differ.
//
// If the parameters of a part now have another sparsifier, its thresholds are lost; residuals stay.
// Threads: under the reducer's lock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "training/reducer/error_feedback.h"
#include "training/reducer/state_bytes.h"

namespace tandem::training {

// Throws Error that names the first difference of model, rank or world.
void check_same_model(const ReducerState& state, const Parameters& parameters, int rank, int world);

// Tensors by the parameters' numbers in this reducer.
std::map<std::uint32_t, Tensors> tensors_by_number(ReducerState& state,
                                                   const Parameters& parameters);

std::vector<RestoredPart> restored_parts(const ReducerState& state, const Parameters& parameters);

}  // namespace tandem::training
