// SPDX-License-Identifier: Apache-2.0
//
// Everything is checked before anything is moved.
#include "training/reducer/restored_state.h"

#include <set>
#include <string>
#include <utility>

#include "common/error.h"

namespace tandem::training {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error("training", "the saved state is " + what);
}

std::vector<std::uint32_t> numbers_here(const ReducerState& state, const Parameters& parameters) {
  std::vector<std::uint32_t> numbers;
  for (const SavedParameter& saved : state.parameters) {
    numbers.push_back(*parameters.find(saved.name));
  }
  return numbers;
}

PartPlan part_plan(const std::vector<std::uint32_t>& numbers, const Parameters& parameters) {
  PartPlan plan;
  plan.kind = PartKind::kSparsified;
  plan.treatment = parameters[numbers.front()].treatment;
  for (const std::uint32_t number : numbers) {
    const std::uint64_t count = parameters[number].num_values;
    plan.segments.push_back({number, plan.num_values, count});
    plan.num_values += count;
  }
  return plan;
}

bool has_treatment(const std::vector<std::uint32_t>& numbers, const std::string& sparsifier,
                   const Parameters& parameters) {
  for (const std::uint32_t number : numbers) {
    const Treatment& treatment = parameters[number].treatment;
    if (treatment.sparsifier != sparsifier) return false;
    if (!(treatment == parameters[numbers.front()].treatment)) return false;
  }
  return true;
}

}  // namespace

void check_same_model(const ReducerState& state, const Parameters& parameters, int rank,
                      int world) {
  if (state.world != static_cast<std::uint32_t>(world)) {
    refuse("of a world of " + std::to_string(state.world) + " ranks, this one has " +
           std::to_string(world) + "; resume with as many ranks");
  }
  if (state.rank != static_cast<std::uint32_t>(rank)) {
    refuse("of rank " + std::to_string(state.rank) + ", this is rank " + std::to_string(rank) +
           "; every rank restores its own");
  }
  std::set<std::string> names;
  for (const SavedParameter& saved : state.parameters) {
    const auto number = parameters.find(saved.name);
    if (!number) refuse("of another model: it has " + saved.name + ", which was not added here");
    if (parameters[*number].shape != saved.shape) {
      refuse("of another model: " + saved.name + " has the shape " + shape_text(saved.shape) +
             " there and " + shape_text(parameters[*number].shape) + " here");
    }
    if (!names.insert(saved.name).second) refuse("damaged: it has " + saved.name + " twice");
  }
  for (std::uint32_t number = 0; number < parameters.size(); ++number) {
    const std::string& name = parameters[number].name;
    if (!names.contains(name)) refuse("of another model: it has no " + name);
  }
}

std::map<std::uint32_t, Tensors> tensors_by_number(ReducerState& state,
                                                   const Parameters& parameters) {
  std::map<std::uint32_t, Tensors> tensors;
  for (SavedParameter& saved : state.parameters) {
    if (saved.tensors.empty()) continue;
    tensors[*parameters.find(saved.name)] = std::move(saved.tensors);
  }
  return tensors;
}

std::vector<RestoredPart> restored_parts(const ReducerState& state, const Parameters& parameters) {
  const std::vector<std::uint32_t> here = numbers_here(state, parameters);
  std::vector<RestoredPart> parts;
  std::set<std::uint32_t> owned;
  for (const SavedPart& saved : state.parts) {
    RestoredPart part;
    part.saved = saved;
    if (saved.parameters.empty()) refuse("damaged: it has a part without parameters");
    for (std::uint32_t& place : part.saved.parameters) {
      place = here[place];
      if (!owned.insert(place).second) {
        refuse("damaged: " + parameters[place].name + " is in two of its parts");
      }
    }
    if (!has_treatment(part.saved.parameters, saved.sparsifier, parameters)) continue;
    part.plan = part_plan(part.saved.parameters, parameters);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace tandem::training
