// SPDX-License-Identifier: Apache-2.0
//
// Computes numbers from densities, and finds numbers that exclude each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

#include "common/error.h"
#include "tensor/sparse/generate/plan_shape.h"
#include "tensor/sparse/generate/tensor_generator.h"

namespace tandem::sparse {
namespace {

std::string number(double value) {
  std::ostringstream text;
  text.precision(15);
  text << value;
  return text.str();
}

[[noreturn]] void refuse(const std::string& text) { throw Error("generate", text); }

// A share of a number, as the nearest integer.
std::uint64_t share_of(double share, double whole) {
  return static_cast<std::uint64_t>(std::llround(share * whole));
}

// How many of `places` are hit when each of their `room` cells is filled with this probability.
double expected_hits(double places, double room, double density) {
  return places * -std::expm1(room * std::log1p(-std::min(density, 1 - 1e-15)));
}

void check_share(const std::optional<double>& share, const char* name) {
  if (share && !(*share >= 0 && *share <= 1)) {
    refuse(std::string(name) + " " + number(*share) + " is not in 0 .. 1");
  }
}

// At least `least` things go into `holders`, each of which takes `room`.
void check_fits(const char* things, std::uint64_t count, const char* holders,
                std::uint64_t num_holders, std::uint64_t room) {
  if (count < num_holders) {
    refuse(std::to_string(count) + " " + things + " cannot fill " + std::to_string(num_holders) +
           " " + holders + ", each of which has at least one: raise the density of " + things +
           " or lower that of " + holders);
  }
  if (static_cast<double>(num_holders) * static_cast<double>(room) < static_cast<double>(count)) {
    refuse(std::to_string(count) + " " + things + " do not fit " + std::to_string(num_holders) +
           " " + holders + " of at most " + std::to_string(room) + ": lower the density of " +
           things + " or raise that of " + holders);
  }
}

// Things in holders, each of which has at least one and at most `room`.
struct Spread {
  std::uint64_t count, holders, room;
};

Spread fibers_in_slices(const TensorPlan& plan, const PlanShape& shape) {
  return {plan.fibers, plan.slices, std::min(plan.most_fibers, shape.slice_fibers)};
}
Spread entries_in_fibers(const TensorPlan& plan, const PlanShape& shape) {
  return {plan.entries, plan.fibers, std::min(plan.most_entries, shape.fiber_size)};
}

// The greatest coefficient of variation: all holders but one have one thing, or are full.
double most_cv(const Spread& spread) {
  if (spread.holders == 0 || spread.room <= 1 || spread.count <= spread.holders) return 0;
  const std::uint64_t more = spread.count - spread.holders, full = more / (spread.room - 1);
  const auto holders = static_cast<double>(spread.holders), room = static_cast<double>(spread.room);
  const double between = 1 + static_cast<double>(more % (spread.room - 1));
  const double ones = holders - static_cast<double>(full) - 1;
  const double average = static_cast<double>(spread.count) / holders;
  const double squares = static_cast<double>(full) * room * room + between * between + ones;
  return std::sqrt(std::max(squares / holders - average * average, 0.0)) / average;
}

// Of a binomial count that is not 0.
double chance_cv(const Spread& spread) {
  const double average = static_cast<double>(spread.count) /
                         static_cast<double>(std::max<std::uint64_t>(spread.holders, 1));
  if (average <= 1) return 0;
  const double empty = std::max(1 - average / static_cast<double>(spread.room), 0.0);
  return std::min(std::sqrt((average - 1) * empty) / average, most_cv(spread));
}

// Features of a real tensor are rounded.
void check_cv(const char* things, const char* holders, double cv, const Spread& spread) {
  constexpr double kRounding = 1e-6;
  if (!(cv >= 0)) refuse("a coefficient of variation is not negative");
  const double most = most_cv(spread);
  if (cv <= most + kRounding) return;
  refuse("the " + std::string(things) + " of a " + std::string(holders, std::strlen(holders) - 1) +
         " cannot vary by " + number(cv) + ": " + std::to_string(spread.count) + " " + things +
         " in " + std::to_string(spread.holders) + " " + holders + " of at most " +
         std::to_string(spread.room) + " vary by at most " + number(most));
}

}  // namespace

PlanShape shape_of_plan(const std::vector<std::uint64_t>& sizes) {
  PlanShape shape;
  const std::size_t order = sizes.size();
  shape.fiber_size = sizes[order - 1];
  shape.slice_fibers = order > 1 ? sizes[order - 2] : 1;
  double slices = 1;
  for (std::size_t mode = 0; mode + 2 < order; ++mode) {
    slices *= static_cast<double>(sizes[mode]);
    if (slices >= 0x1p63) refuse("the tensor has more than 2^63 slices");
    shape.all_slices *= sizes[mode];
  }
  return shape;
}

void check_plan(const TensorPlan& plan) {
  const PlanShape shape = shape_of_plan(plan.sizes);
  if (plan.entries == 0) {
    if (plan.fibers != 0 || plan.slices != 0) {
      refuse("0 nonzeros cannot fill " + std::to_string(plan.fibers) + " fibers in " +
             std::to_string(plan.slices) + " slices: raise the density");
    }
    return;
  }
  if (plan.entries > std::numeric_limits<std::uint32_t>::max()) {
    refuse(std::to_string(plan.entries) + " nonzeros are more than 2^32 - 1");
  }
  if (plan.slices > shape.all_slices) {
    refuse(std::to_string(plan.slices) + " slices with nonzeros, but there are only " +
           std::to_string(shape.all_slices));
  }
  if (plan.slices == 0 || plan.fibers == 0) {
    refuse(std::to_string(plan.entries) + " nonzeros need a slice and a fiber, and " +
           std::to_string(plan.fibers) + " fibers in " + std::to_string(plan.slices) +
           " slices are asked for: raise the density of " +
           (plan.fibers == 0 ? "fibers" : "slices"));
  }
  check_fits("fibers", plan.fibers, "slices", plan.slices,
             std::min(plan.most_fibers, shape.slice_fibers));
  check_fits("nonzeros", plan.entries, "fibers", plan.fibers,
             std::min(plan.most_entries, shape.fiber_size));
  check_cv("fibers", "slices", plan.cv_fibers, fibers_in_slices(plan, shape));
  check_cv("nonzeros", "fibers", plan.cv_entries, entries_in_fibers(plan, shape));
}

TensorPlan plan_tensor(const GeneratorOptions& options) {
  const CooTensor checked(options.sizes);  // throws for sizes that no tensor has
  check_share(options.density, "the density");
  check_share(options.fiber_density, "the fiber density");
  check_share(options.slice_density, "the slice density");
  const PlanShape shape = shape_of_plan(options.sizes);
  const double cells = num_cells(options.sizes);
  const auto slices = static_cast<double>(shape.all_slices);
  const auto fibers_of_slice = static_cast<double>(shape.slice_fibers);
  const double fibers = slices * fibers_of_slice;
  if (options.density * cells >= 0x1p32) {
    refuse("a density of " + number(options.density) + " asks for " +
           number(options.density * cells) + " nonzeros; 2^32 - 1 is the most");
  }
  TensorPlan plan{options.sizes};
  plan.entries = share_of(options.density, cells);
  plan.most_fibers = shape.slice_fibers;
  plan.most_entries = shape.fiber_size;
  const auto fiber_size = static_cast<double>(shape.fiber_size);
  const double random_fibers = expected_hits(fibers, fiber_size, options.density);
  plan.fibers = options.fiber_density
                    ? share_of(*options.fiber_density, fibers)
                    : std::clamp<std::uint64_t>(std::llround(random_fibers),
                                                plan.entries > 0 ? 1 : 0, plan.entries);
  const double filled = static_cast<double>(plan.fibers) / fibers;
  const double random_slices = expected_hits(slices, fibers_of_slice, filled);
  plan.slices = options.slice_density
                    ? share_of(*options.slice_density, slices)
                    : std::clamp<std::uint64_t>(std::llround(random_slices),
                                                plan.fibers > 0 ? 1 : 0, plan.fibers);
  plan.cv_fibers = options.cv_fibers.value_or(chance_cv(fibers_in_slices(plan, shape)));
  plan.cv_entries = options.cv_entries.value_or(chance_cv(entries_in_fibers(plan, shape)));
  check_plan(plan);
  return plan;
}

}  // namespace tandem::sparse
