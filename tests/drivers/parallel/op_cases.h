// SPDX-License-Identifier: Apache-2.0
//
// Operations, and chains of them, as the engine makes them: run on one unit and on composites.
#pragma once

#include <string>
#include <vector>

#include "drivers/parallel/composite_fixture.h"

namespace tandem::device::parallel {

struct OpCase {
  std::string name;
  OnBench run;
  bool bitwise_by_columns = true;  // has no sum over inputs
};

inline void PrintTo(const OpCase& op, std::ostream* out) { *out << op.name; }

// Six query heads, six kv heads, widths that 1, 2 and 3 parts divide.
std::vector<OpCase> op_cases();

}  // namespace tandem::device::parallel
