// SPDX-License-Identifier: Apache-2.0
//
// packet_of(): the packet of a run, by Debian's function. xrt::run::get_ert_packet() of this
// library is the program's: it tells that the program may look at the packet itself.
#pragma once

#include <xrt/xrt_kernel.h>

#include "emulation/runtime_guard/debian_function.h"

namespace tandem::emulation {

inline ert_packet* packet_of(const xrt::run& run) {
  static auto* const get =
      debian_function<ert_packet*(const xrt::run*)>("_ZNK3xrt3run14get_ert_packetEv");
  return get(&run);
}

}  // namespace tandem::emulation
