// SPDX-License-Identifier: Apache-2.0
//
// TANDEM_CHECK prints one line on stderr and aborts, so that a core dump shows the place.
#include "common/error.h"

#include <cstdio>
#include <cstdlib>

namespace tandem::detail {

void check_failed(const char* file, int line, const char* expression, const std::string& operands) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s%s%s\n", file, line, expression,
               operands.empty() ? "" : ": ", operands.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace tandem::detail
