// SPDX-License-Identifier: Apache-2.0
//
// The known name that a mistyped one is most like.
//
// At most two typos (a letter added, dropped or changed, two that changed places), and one in
// three letters; '-' and '_' are
// alike. Pure; threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tandem {

// " (did you mean 'platform'?)"; nothing when none of `known` is like `name`. prefix: what is typed
// in front of every name, and counts as none of its letters.
std::string suggestion(std::string_view name, std::span<const std::string_view> known,
                       std::string_view prefix = {});

}  // namespace tandem
