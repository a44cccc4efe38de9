// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a unit that ended (or was never finished) while a command of its still ran: the
// command may yet write to them, so they are kept until it has ended.
//
// Process-wide; the card stays open as long as it has abandoned buffers. Threads: any. Errors:
// none; buffers that cannot even be kept track of are leaked.
#pragma once

#include <memory>
#include <vector>

#include "xrt/attention/launch.h"

namespace tandem::device::xrt_card {

struct CardBuffers {
  std::vector<PooledUnit> units;  // of attention; the launches refer to the vector's storage
  std::vector<std::unique_ptr<CardRuns>> launches;  // with the buffers they use
};

void abandon(CardBuffers buffers) noexcept;

// Owns buffers that commands use; its end waits a second for them, then abandons the buffers.
struct SettledBuffers : CardBuffers {
  SettledBuffers() = default;
  SettledBuffers(const SettledBuffers&) = delete;
  SettledBuffers& operator=(const SettledBuffers&) = delete;
  ~SettledBuffers();
};

// Gives back what no command uses any more. Called before a card is opened
// and before a unit is made.
void reclaim_abandoned() noexcept;

}  // namespace tandem::device::xrt_card
