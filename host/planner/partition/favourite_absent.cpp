// SPDX-License-Identifier: Apache-2.0
//
// Built if coinor-libclp-dev is not installed.
#include "common/error.h"
#include "planner/partition/favourite_children.h"

namespace tandem::planner {

bool has_linear_solver() { return false; }

std::vector<int> favourite_children(const OperatorGraph&, const DeviceLinks&) {
  throw Error("place",
              "the method msct needs a linear solver, which is not built in: install "
              "coinor-libclp-dev and build again, or choose another method");
}

}  // namespace tandem::planner
