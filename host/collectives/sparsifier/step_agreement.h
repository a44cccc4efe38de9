// SPDX-License-Identifier: Apache-2.0
//
// Compares what the ranks are about to do, before a step changes anything: one all-gather.
//
// Fields are compared by name. A difference, or an error of one rank, is the same Error on every
// rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/collective.h"
#include "common/error.h"

namespace tandem::collectives {

struct StepPlan {
  std::vector<std::pair<std::string, std::string>> fields;  // equal on all ranks
  std::string error;                                        // empty: none
  std::optional<std::uint64_t> non_finite;                  // the first place in the gradient
};

// The first rank that has a value that is not finite, and the place.
struct NonFinitePlace {
  int rank;
  std::uint64_t place;
};

// The error of a step that must not go on; the same on every rank.
Error stop_at(const NonFinitePlace& bad, std::uint64_t step);

// Every digit of a number.
std::string number_text(double value);

std::optional<NonFinitePlace> agree_on_step(Group& group, const StepPlan& own,
                                            const CallOptions& options);

}  // namespace tandem::collectives
