// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the gloo transport in builds without libgloo: says how to enable it.
#include "transport/gloo/store.h"

namespace tandem::transport::gloo {
namespace {

[[noreturn]] void refuse() {
  throw Error("transport",
              "this build has no gloo transport: install libgloo-dev, then configure again");
}

}  // namespace

bool available() { return false; }

std::unique_ptr<Transport> connect(const Options&) { refuse(); }

std::shared_ptr<Store> open_store(const Options&, Deadline) { refuse(); }

}  // namespace tandem::transport::gloo
