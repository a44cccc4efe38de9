// SPDX-License-Identifier: Apache-2.0
//
// read_qaplib: reads an instance in the QAPLIB format: the size, the flows, then the distances.
//
// Numbers are whole and separated by blanks; line ends have no meaning. Some collections write the
// best known value as a second number of the first line; it is skipped. Threads: pure. Errors:
// Error with the line.
#pragma once

#include <istream>

#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {

QuadraticAssignment read_qaplib(std::istream& in);

}  // namespace tandem::planner
