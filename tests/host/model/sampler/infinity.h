// SPDX-License-Identifier: Apache-2.0
//
// Infinity: a logit above all others. Minus infinity: a token that is never chosen.
#pragma once

#include <limits>

namespace tandem::model {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace tandem::model
