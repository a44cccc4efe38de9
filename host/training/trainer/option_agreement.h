// SPDX-License-Identifier: Apache-2.0
//
// Compares the options of all ranks before the first step, and the options of a resumed run with
// those of its checkpoint.
//
// Collective: all ranks of the group call it. If a value differs, every rank throws the same
// Error("train", ...) with each option that differs, its values and their ranks. Cost: one
// all-gather.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives/group.h"

namespace tandem::training {

using OptionValues = std::vector<std::pair<std::string, std::string>>;  // name, value

void require_equal_options(collectives::Group& group, const OptionValues& own);

// The text of that error; empty: no difference. ranks[r]: the options of rank r.
std::string differences(const std::vector<OptionValues>& ranks);

// "--batch was 2 and is 8; --seed was 1 and is 5"; empty: none has changed. An option that only one
// of them has counts as unchanged.
std::string changes(const OptionValues& before, const OptionValues& now);

}  // namespace tandem::training
