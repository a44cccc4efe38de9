// SPDX-License-Identifier: Apache-2.0
//
// Describes an operation by the few values that a timeline or an error needs.
//
// Pure functions; threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/compute_ops.h"

namespace tandem::device {

struct OpSummary {
  std::string_view name;    // "embed", "causal attention"; static
  std::int64_t rows = -1;   // rows that the operation computes; -1: it does not work on rows
  std::int64_t bytes = -1;  // bytes that the operation copies; -1: it is not a copy
};

OpSummary describe(const Op& op);

// Throws the Error of a unit that does not have this operation.
[[noreturn]] void refuse(const Op& op);

}  // namespace tandem::device
