// SPDX-License-Identifier: Apache-2.0
//
// Slices are stored before a part ends and dropped after the new part has them, so an exception
// between loses nothing.
#include "training/reducer/error_feedback.h"

#include <algorithm>
#include <utility>

namespace tandem::training {
namespace {

bool same_part(const SavedPart& a, const SavedPart& b) {
  return a.sparsifier == b.sparsifier && a.density == b.density && a.parameters == b.parameters;
}

SavedPart wanted_part(const PartPlan& plan, double density) {
  SavedPart wanted;
  wanted.sparsifier = plan.treatment.sparsifier;
  wanted.density = density;
  for (const Segment& segment : plan.segments) wanted.parameters.push_back(segment.parameter);
  return wanted;
}

}  // namespace

collectives::Sparsifier& ErrorFeedback::sparsifier_of(const PartPlan& plan, double density,
                                                      const std::string& device) {
  const SavedPart wanted = wanted_part(plan, density);
  const auto owned = owner_.find(wanted.parameters.front());
  if (owned != owner_.end() && same_part(owned->second->saved, wanted)) {
    Part& part = *owned->second;
    if (part.device != device) {
      auto moved = make_empty(plan, wanted, device);
      moved->restore(part.sparsifier->state());
      part.sparsifier = std::move(moved);
      part.device = device;
    }
    return *part.sparsifier;
  }
  for (const std::uint32_t parameter : wanted.parameters) {
    const auto owner = owner_.find(parameter);
    if (owner != owner_.end()) dissolve(owner->second);
  }
  return adopt(plan, wanted, device);
}

collectives::Sparsifier& ErrorFeedback::adopt(const PartPlan& plan, const SavedPart& wanted,
                                              const std::string& device) {
  Part part{wanted, device, {}, make(plan, wanted, device)};
  for (const Segment& segment : plan.segments) part.sizes.push_back(segment.count);
  const auto place = parts_.insert(parts_.end(), std::move(part));
  for (const std::uint32_t parameter : wanted.parameters) {
    owner_[parameter] = place;
    stored_.erase(parameter);
  }
  return *place->sparsifier;
}

std::unique_ptr<collectives::Sparsifier> ErrorFeedback::make_empty(
    const PartPlan& plan, const SavedPart& wanted, const std::string& device) const {
  collectives::SparsifierOptions options = options_;
  options.density = wanted.density;
  options.reduce.scheme = plan.treatment.scheme;
  // The state of `auto` is kept per part.
  options.reduce.bucket = std::to_string(wanted.parameters.front()) + "+" +
                          std::to_string(wanted.parameters.size()) + " " + wanted.sparsifier;
  options.layer_sizes.clear();
  for (const Segment& segment : plan.segments) options.layer_sizes.push_back(segment.count);
  if (device.empty()) {
    return collectives::make_sparsifier(wanted.sparsifier, plan.num_values, options);
  }
  const auto shape = collectives::selection_shape(wanted.sparsifier, plan.num_values);
  return collectives::make_sparsifier(wanted.sparsifier, devices_.residence(device, shape),
                                      options);
}

std::unique_ptr<collectives::Sparsifier> ErrorFeedback::make(const PartPlan& plan,
                                                             const SavedPart& wanted,
                                                             const std::string& device) const {
  auto sparsifier = make_empty(plan, wanted, device);
  if (stored_.empty() && wanted.step == 0) return sparsifier;
  collectives::SparsifierState state = sparsifier->state();
  std::uint64_t begin = 0;
  for (const Segment& segment : plan.segments) {
    const auto stored = stored_.find(segment.parameter);
    if (stored != stored_.end()) {
      for (const auto& [name, values] : stored->second) {
        const auto tensor = state.tensors.find(name);
        if (tensor == state.tensors.end()) continue;  // belongs to another sparsifier
        std::ranges::copy(values, tensor->second.begin() + static_cast<std::ptrdiff_t>(begin));
      }
    }
    begin += segment.count;
  }
  if (wanted.step > 0) {
    state.step = wanted.step;
    state.numbers = wanted.numbers;
  }
  sparsifier->restore(state);
  return sparsifier;
}

RawVector<float> ErrorFeedback::take_residual(const PartPlan& plan) {
  RawVector<float> residual;
  std::uint64_t begin = 0;
  for (const Segment& segment : plan.segments) {
    const auto owner = owner_.find(segment.parameter);
    if (owner != owner_.end()) dissolve(owner->second);
    const auto stored = stored_.find(segment.parameter);
    if (stored != stored_.end()) {
      if (residual.empty()) residual.assign(plan.num_values, 0.0f);
      std::ranges::copy(stored->second[kResidual],
                        residual.begin() + static_cast<std::ptrdiff_t>(begin));
      stored_.erase(stored);
    }
    begin += segment.count;
  }
  return residual;
}

void ErrorFeedback::add_slices(const Part& part, std::map<std::uint32_t, Tensors>& to) {
  const collectives::SparsifierState state = part.sparsifier->state();
  for (const auto& [name, values] : state.tensors) {
    auto from = values.begin();
    for (std::size_t i = 0; i < part.sizes.size(); ++i) {
      const auto end = from + static_cast<std::ptrdiff_t>(part.sizes[i]);
      to[part.saved.parameters[i]][name].assign(from, end);
      from = end;
    }
  }
}

void ErrorFeedback::dissolve(Parts::iterator part) {
  add_slices(*part, stored_);
  for (const std::uint32_t parameter : part->saved.parameters) owner_.erase(parameter);
  parts_.erase(part);
}

std::map<std::uint32_t, Tensors> ErrorFeedback::tensors() const {
  std::map<std::uint32_t, Tensors> all = stored_;
  for (const Part& part : parts_) add_slices(part, all);
  return all;
}

std::vector<SavedPart> ErrorFeedback::parts() const {
  std::vector<SavedPart> all;
  for (const Part& part : parts_) {
    collectives::SparsifierState state = part.sparsifier->state();
    SavedPart saved = part.saved;
    saved.step = state.step;
    saved.numbers = std::move(state.numbers);
    all.push_back(std::move(saved));
  }
  return all;
}

void ErrorFeedback::restore(std::map<std::uint32_t, Tensors> tensors,
                            const std::vector<RestoredPart>& parts) {
  ErrorFeedback next(options_, devices_);
  next.stored_ = std::move(tensors);
  for (const RestoredPart& part : parts)
    next.adopt(part.plan, part.saved, "");  // in host memory until a gradient arrives
  parts_.swap(next.parts_);
  owner_.swap(next.owner_);
  stored_.swap(next.stored_);
}

}  // namespace tandem::training
