// SPDX-License-Identifier: Apache-2.0
//
// The options of the CPU.
#pragma once

#include <array>

#include "device/backend_options.h"

namespace tandem::device::cpu {

inline constexpr std::array<std::string_view, 3> kSparseWords = {"auto", "always", "never"};

inline constexpr BackendOption kSparseOption = {
    .name = "cpu-sparse",
    .type = OptionType::kWord,
    .help =
        "whether the CPU multiplies pruned weights without their zeros (auto: where it measures "
        "that this is faster)",
    .default_value = "auto",
    .words = kSparseWords};

inline constexpr std::array kOptions = {kSparseOption};

}  // namespace tandem::device::cpu
