// SPDX-License-Identifier: Apache-2.0
//
// read_qaplib: an instance in the form of QAPLIB: the size, the flows, then the distances.
//
// Whole numbers between blanks, in lines of any length. A second number in the first line is the
// best known value, as some collections have it; it is left out. Threads: pure. Errors: Error
// with the line.
#pragma once

#include <istream>

#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {

QuadraticAssignment read_qaplib(std::istream& in);

}  // namespace tandem::planner
