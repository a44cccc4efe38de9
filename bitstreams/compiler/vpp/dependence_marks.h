// SPDX-License-Identifier: Apache-2.0
//
// Writes into a kernel's text what the checked copy needs to test `#pragma HLS dependence`: calls
// at the begin of a loop, of each iteration, and at the pragma.
//
// The innermost loop around a pragma gets the calls; a pragma outside of loops concerns the
// innermost loops after it in its function. Claims that can be wrong: `false`, and `distance=N`
// with `true`. A pragma without a variable is left out. Line numbers stay. Input: preprocessed C++.
// Text without such pragmas, or with unmatched brackets, is returned unchanged. Cost: linear. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

std::string mark_dependences(std::string_view preprocessed);

}  // namespace tandem::vpp
