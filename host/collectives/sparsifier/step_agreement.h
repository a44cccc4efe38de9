// SPDX-License-Identifier: Apache-2.0
//
// Compares the next step of all ranks before it changes anything. One all-gather.
//
// Fields are compared by name. If a field differs, or a rank reports an error, every rank throws
// the same Error.
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
  std::vector<std::pair<std::string, std::string>> fields;  // must be equal on all ranks
  std::string error;                                        // empty: none
  std::optional<std::uint64_t> non_finite;                  // the first place in the gradient
};

// The first rank that has a value that is not finite, and the value's place.
struct NonFinitePlace {
  int rank;
  std::uint64_t place;
};

// The error of a step that stops because of such a value; the same on every rank.
Error stop_at(const NonFinitePlace& bad, std::uint64_t step);

// The number with all digits.
std::string number_text(double value);

std::optional<NonFinitePlace> agree_on_step(Group& group, const StepPlan& own,
                                            const CallOptions& options);

}  // namespace tandem::collectives
