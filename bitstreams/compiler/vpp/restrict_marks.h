// SPDX-License-Identifier: Apache-2.0
//
// Writes into a kernel's text what the checked copy needs to test `__restrict` pointers: a call at
// the begin of a function for each two of its parameters, which tells the card their addresses.
//
// Only the user's own functions are changed. Line numbers stay. Input: preprocessed C++. Text
// without such functions, or with unmatched brackets, is returned unchanged. Cost: linear. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

std::string mark_restricts(std::string_view preprocessed);

}  // namespace tandem::vpp
