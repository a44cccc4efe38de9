// SPDX-License-Identifier: Apache-2.0
//
// Selection on the CPU by plain loops of one thread: what other devices' units are compared with.
//
// The sparsifiers of host/collectives have vectorised, threaded loops of their own for gradients in
// host memory; this unit is for callers that take any device. Memory: 4 bytes per value, 8 with a
// velocity. Deadlines are not looked at: no call waits. Threads: one at a time.
#pragma once

#include <memory>

#include "device/selection_unit.h"

namespace tandem::device::cpu {

// The residual is zero. Throws Error for the shape.
std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape);

}  // namespace tandem::device::cpu
