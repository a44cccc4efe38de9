// SPDX-License-Identifier: Apache-2.0
//
// suggestion: the known name that is closest to a mistyped name. num_typos: the distance of two
// names.
//
// A typo is a letter added, dropped or changed, or two neighbours swapped. A name matches with at
// most two typos and at most one per three letters. '-' and '_' are equal. Pure; threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

// The smallest number of typos that turns one name into the other.
std::size_t num_typos(std::string_view left, std::string_view right);

// " (did you mean 'platform'?)"; empty when no name of `known` matches. prefix: what users type in
// front of every name ("--"); its letters do not count.
std::string suggestion(std::string_view name, std::span<const std::string_view> known,
                       std::string_view prefix = {});

}  // namespace tandem
