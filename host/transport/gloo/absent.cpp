// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the gloo transport in builds without libgloo: says how to enable it.
#include "transport/gloo/gloo.h"

namespace tandem::transport::gloo {

bool available() { return false; }

std::unique_ptr<Transport> connect(const Options&) {
  throw Error("transport",
              "this build has no gloo transport: install libgloo-dev, then configure again");
}

}  // namespace tandem::transport::gloo
