// SPDX-License-Identifier: Apache-2.0
//
// Built if libmetis is not installed.
#include "common/error.h"
#include "planner/partition/metis_placement.h"

namespace tandem::planner {

bool has_metis() { return false; }

Placement place_by_metis(const OperatorGraph&, const DeviceLinks&) {
  throw Error(
      "place",
      "METIS is not built in: install libmetis-dev and build again, or choose another method");
}

}  // namespace tandem::planner
