// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the gloo transport in builds without libgloo: says how to enable it.
#include "collectives/transport/gloo/gloo.h"

namespace tandem::collectives::gloo {

bool available() { return false; }

std::unique_ptr<Transport> connect(const Options&) {
  throw Error("collectives",
              "this build has no gloo transport: install libgloo-dev, then configure again");
}

}  // namespace tandem::collectives::gloo
