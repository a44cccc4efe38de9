// SPDX-License-Identifier: Apache-2.0
//
// Writes into a kernel's text the stores that the compiler does not check in the checked copy: g++
// checks only the read of `a[i] += x`, `++a[i]` and `a[i] = f(a[i])`.
//
// The element is written as tandem_store(a[i]), which announces the store before the read. Only the
// user's own functions are changed; a system header's are not. Line numbers stay. Input:
// preprocessed C++. Text with unmatched brackets is returned unchanged. Cost: linear. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

std::string mark_stores(std::string_view preprocessed);

}  // namespace tandem::vpp
