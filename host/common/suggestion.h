// SPDX-License-Identifier: Apache-2.0
//
// suggestion: the known name that is closest to a mistyped one.
//
// A typo is a letter added, dropped or changed, or two neighbours swapped. A name matches with at
// most two typos and at most one per three letters. '-' and '_' are equal. Pure; threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tandem {

// " (did you mean 'platform'?)"; empty when no name of `known` matches. prefix: what users type in
// front of every name ("--"); its letters do not count.
std::string suggestion(std::string_view name, std::span<const std::string_view> known,
                       std::string_view prefix = {});

}  // namespace tandem
