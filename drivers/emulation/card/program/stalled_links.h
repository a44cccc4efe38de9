// SPDX-License-Identifier: Apache-2.0
//
// stalled_links: the links that hold more than they could on hardware, while their readers rest.
// left_links: those that hold values while both of their units have nothing more to do.
//
// Here a unit whose reader has not started may write on, so that programs can start their kernels
// one after the other. On hardware it waits. A free-running unit may hold what one call of its
// kernel takes. Threads: any; values may move meanwhile. Cost: linear in units times links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulation/card/program/link_table.h"

namespace tandem::emulation {

// What a link without a stated depth can hold on hardware at most: the registers at its two ends,
// and some more to be sure.
constexpr uint64_t kUnstatedCapacity = 16;

struct UnitRest {
  bool is_idle = false;  // no command runs or waits there
  bool is_free_running = false;
  bool is_content = false;  // it has no command, and all its commands did what they were to
  uint64_t calls = 0;       // of its kernel, in this bitstream
};

// Those behind unit `writer`, also behind free-running units between whose kernel returns; each as
// "READER HELD DEPTH NAME ". `units`: [units].
std::string stalled_links(const std::vector<LinkTable::Level>& links,
                          const std::vector<UnitRest>& units, uint32_t writer);

// A unit that runs freely may still take the values. stalled_links() tells of a reader that never
// began.
std::vector<LinkTable::Level> left_links(const std::vector<LinkTable::Level>& links,
                                         const std::vector<UnitRest>& units);

}  // namespace tandem::emulation
