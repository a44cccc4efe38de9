// SPDX-License-Identifier: Apache-2.0
//
// The state of a reducer as bytes, with a version and a checksum.
//
// Layout, little endian: "TANDRDCR", u32 version, u32 rank, u32 world, u64 step, u32 outcome of the
// trial, the parameters (name, shape, tensors of f32 by name), the parts (sparsifier, f64 density,
// u64 step, indices of its parameters, numbers by name), and the XXH3-64 of everything before. A
// u64 length precedes texts and lists. parse_state() checks every length against the remaining
// bytes before it allocates. Errors: Error that names the damaged part. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "training/reducer/error_feedback.h"
#include "training/reducer/sparsity_trial.h"

namespace tandem::training {

struct SavedParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  Tensors tensors;  // each has as many values as the shape; may be empty
};

struct ReducerState {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint64_t step = 0;
  Payoff payoff = Payoff::kOpen;
  std::vector<SavedParameter> parameters;
  std::vector<SavedPart> parts;  // parameters as indices of the list above
};

std::vector<std::byte> state_bytes(const ReducerState& state);
ReducerState parse_state(std::span<const std::byte> bytes);

}  // namespace tandem::training
