// SPDX-License-Identifier: Apache-2.0
//
// The inproc transport: ranks are threads of one process, messages are shared pointers.
//
// A World holds the mailboxes; every rank's transport is made from it and may outlive the handle.
// Connections fail alone. close() and abort() take effect at once. A rank whose transport is
// destroyed is lost: peers that wait for it throw kPeerLost at once. shrink() waits until all
// living ranks have called it, or until the deadline. Cost: one lock and one condition variable per
// rank; no copies.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.h"

namespace tandem::transport::inproc {

// One transport per rank, in rank order; give each to its thread.
std::vector<std::unique_ptr<Transport>> make_world(int world);

}  // namespace tandem::transport::inproc
