// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a unit that ended while one of its commands still ran. The command may still write to
// them, so they are kept until it ends.
//
// One list per process; a card stays open while it has abandoned buffers. Threads: any. Errors:
// none. Buffers that cannot be put on the list are leaked.
#pragma once

#include <memory>
#include <vector>

#include "xrt/attention/launch.h"

namespace tandem::device::xrt_card {

struct CardBuffers {
  std::vector<PooledUnit> units;  // attention only; launches refer to the vector's storage
  std::vector<std::unique_ptr<CardRuns>> launches;  // they own the buffers that they use
};

void abandon(CardBuffers buffers) noexcept;

// Owns buffers that commands use. Its destructor waits up to a second for the commands, then
// abandons the buffers.
struct DrainedBuffers : CardBuffers {
  DrainedBuffers() = default;
  DrainedBuffers(const DrainedBuffers&) = delete;
  DrainedBuffers& operator=(const DrainedBuffers&) = delete;
  ~DrainedBuffers();
};

// Frees the abandoned buffers that no command uses any more. Called before a card is opened and
// before a unit is made.
void reclaim_abandoned() noexcept;

}  // namespace tandem::device::xrt_card
