// SPDX-License-Identifier: Apache-2.0
//
// Plans are made once per composition and shared with the calls in flight.
#include "training/reducer/parameters.h"

#include <algorithm>
#include <limits>
#include <set>

#include "collectives/sparsifier/sparsifier.h"
#include "common/error.h"

namespace tandem::training {
namespace {

// Frameworks compose buckets once or twice. A caller that composes them anew each time must not
// fill the memory.
constexpr std::size_t kMostPlans = 1024;

std::uint64_t checked_num_values(const std::string& name, const std::vector<std::int64_t>& shape) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size <= 0 || static_cast<std::uint64_t>(size) > kMost / count) {
      throw Error("training", "parameter " + name + " has the shape " + shape_text(shape) +
                                  "; a parameter has 1 to 2^32 - 1 values");
    }
    count *= static_cast<std::uint64_t>(size);
  }
  return count;
}

PartKind kind_of(const Treatment& treatment) {
  if (treatment.sparsifier == kDense) return PartKind::kDense;
  return treatment.sparsifier == kRows ? PartKind::kRows : PartKind::kSparsified;
}

// The part of `plan` for a parameter; makes a new one if there is none.
PartPlan& part_of(BucketPlan& plan, const Treatment& treatment) {
  const PartKind kind = kind_of(treatment);
  for (PartPlan& part : plan.parts) {
    if (part.kind != kind || kind == PartKind::kRows) continue;
    if (kind == PartKind::kDense || part.treatment == treatment) return part;
  }
  PartPlan& part = plan.parts.emplace_back();
  part.kind = kind;
  part.treatment = treatment;
  return part;
}

// A scheme and a wire type that do not go together are found here, before any bucket is changed.
void check_treatment(const Treatment& treatment, const ReducerOptions& options) {
  const auto names = collectives::sparsifier_names();
  if (std::ranges::find(names, treatment.sparsifier) == names.end()) return;  // dense or rows
  collectives::SparsifierOptions probe = options.algorithm;
  probe.density = treatment.density;
  probe.reduce.scheme = treatment.scheme;
  if (options.wire != DType::kF32) probe.reduce.wire = options.wire;
  collectives::make_sparsifier(treatment.sparsifier, 1, probe);
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

std::uint32_t Parameters::add(const std::string& name, const std::vector<std::int64_t>& shape) {
  if (name.empty()) throw Error("training", "a parameter needs a name");
  if (by_name_.contains(name)) {
    throw Error("training", "parameter " + name + " exists already; add each one once");
  }
  Parameter parameter;
  parameter.name = name;
  parameter.shape = shape;
  parameter.num_values = checked_num_values(name, shape);
  parameter.num_rows = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.front());
  parameter.width = parameter.num_values / parameter.num_rows;
  parameter.treatment = treatment_of(options_, name, shape);
  check_treatment(parameter.treatment, options_);
  const auto number = static_cast<std::uint32_t>(all_.size());
  all_.push_back(std::move(parameter));
  by_name_[name] = number;
  lines_.reset();
  return number;
}

const Parameter& Parameters::at(std::uint32_t parameter) const {
  if (parameter >= all_.size()) {
    throw Error("training", "there is no parameter " + std::to_string(parameter) + "; " +
                                std::to_string(all_.size()) + " were added");
  }
  return all_[parameter];
}

std::optional<std::uint32_t> Parameters::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::shared_ptr<const BucketPlan> Parameters::plan(std::span<const std::uint32_t> parameters) {
  const std::vector<std::uint32_t> key(parameters.begin(), parameters.end());
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  if (key.empty()) throw Error("training", "a bucket has at least one parameter");
  std::set<std::uint32_t> listed;
  for (const std::uint32_t number : key) {
    if (listed.insert(number).second) continue;
    throw Error("training", "a bucket lists parameter " + std::to_string(number) + " twice");
  }
  auto plan = std::make_shared<BucketPlan>();
  plan->parameters = key;
  for (const std::uint32_t number : key) {
    const Parameter& parameter = at(number);
    const Segment segment{number, plan->num_values, parameter.num_values};
    plan->lines.push_back("parameter " + std::to_string(plan->names.size()) +
                          " of the bucket=" + parameter.name);
    plan->names.push_back(parameter.name);
    plan->segments.push_back(segment);
    plan->widths.push_back(parameter.width);
    PartPlan& part = part_of(*plan, parameter.treatment);
    part.segments.push_back(segment);
    part.num_values += segment.count;
    plan->num_values += segment.count;
  }
  if (plan->num_values > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("training", "a bucket has " + std::to_string(plan->num_values) +
                                " values; at most 2^32 - 1 are possible, make smaller buckets");
  }
  plan->title = plan->names.front();
  if (key.size() > 1) plan->title += " and " + std::to_string(key.size() - 1) + " more";
  if (plans_.size() >= kMostPlans) plans_.clear();
  plans_[key] = plan;
  return plan;
}

std::shared_ptr<const std::vector<std::string>> Parameters::lines() {
  if (lines_ != nullptr) return lines_;
  std::vector<std::string> lines = {"the number of parameters=" + std::to_string(all_.size())};
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Treatment& treatment = all_[i].treatment;
    lines.push_back("parameter " + std::to_string(i) + "=" + all_[i].name + " " +
                    shape_text(all_[i].shape));
    lines.push_back("the treatment of parameter " + all_[i].name + "=" + treatment.sparsifier +
                    " with density " + text_of(treatment.density) + " and scheme " +
                    treatment.scheme + (treatment.if_it_pays ? " where it pays" : ""));
  }
  lines_ = std::make_shared<const std::vector<std::string>>(std::move(lines));
  return lines_;
}

}  // namespace tandem::training
