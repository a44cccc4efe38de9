// SPDX-License-Identifier: Apache-2.0
//
// The logit beyond all others.
#pragma once

#include <limits>

namespace tandem::model {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace tandem::model
