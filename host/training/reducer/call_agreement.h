// SPDX-License-Identifier: Apache-2.0
//
// Compares the calls of all ranks before a call changes anything.
//
// One all-gather of 24 bytes exchanges a hash of the lines and the first parameter with a value
// that is not finite. If hashes differ, the lines are exchanged, and every rank throws the same
// Error. It names the first line that differs, both values and both ranks. An error of one rank is
// thrown on every rank. Threads: the reducer's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective.h"

namespace tandem::training {

// The lines that all calls of a reducer share: options and parameters, with their hash.
struct ModelText {
  std::string text;
  std::uint64_t hash = 0;
};
ModelText model_text(const std::vector<std::string>& options,
                     const std::vector<std::string>& parameters);

struct CallPlan {
  const ModelText& model;
  std::vector<std::string> lines;           // "name=value"; equal on all ranks
  std::string error;                        // the error in the own arguments; empty: none
  std::optional<std::uint64_t> non_finite;  // parameter of the first such value
};

struct NonFiniteValue {
  int rank;                 // the first rank that has one
  std::uint64_t parameter;  // the first such parameter there
};

// Returns the first value of any rank that is not finite; empty if there is none.
std::optional<NonFiniteValue> agree_on_call(collectives::Group& group, const CallPlan& own,
                                            const collectives::CallOptions& options);

}  // namespace tandem::training
