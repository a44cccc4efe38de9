// SPDX-License-Identifier: Apache-2.0
//
// No gloo peer: this build has no gloo (Debian: libgloo-dev).
#include "host/collectives/peer_allreduce.h"

namespace tandem::bench {

std::unique_ptr<PeerAllreduce> gloo_allreduce(const std::string&) { return nullptr; }

}  // namespace tandem::bench
