// SPDX-License-Identifier: Apache-2.0
//
// Built where libscotch is not there.
#include "common/error.h"
#include "planner/partition/scotch_placement.h"

namespace tandem::planner {

bool has_scotch() { return false; }

Placement place_by_scotch(const OperatorGraph&, const DeviceLinks&) {
  throw Error(
      "place",
      "Scotch is not built in: install libscotch-dev and build again, or choose another method");
}

}  // namespace tandem::planner
