// SPDX-License-Identifier: Apache-2.0
//
// Compares the options of all ranks before the first step, and those of a resumed run with its
// checkpoint's.
//
// Collective: all ranks of the group call it. If a value differs, every rank throws the same
// Error("train", ...). It names each option that differs, with the values and their ranks. Cost:
// one all-gather.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives/group.h"

namespace tandem::training {

using OptionValues = std::vector<std::pair<std::string, std::string>>;  // name, value

void require_equal_options(collectives::Group& group, const OptionValues& own);

// The text of that error; empty: there is no difference. ranks[r]: what rank r has.
std::string differences(const std::vector<OptionValues>& ranks);

// "--batch was 2 and is 8; --seed was 1 and is 5"; empty: none has changed. What only one of them
// has counts as unchanged.
std::string changes(const OptionValues& before, const OptionValues& now);

}  // namespace tandem::training
