// SPDX-License-Identifier: Apache-2.0
//
// SelectionUnit on the CPU, by plain loops of one thread: the reference for the units of other
// devices.
//
// It serves callers that accept any device. For gradients in host memory the sparsifiers of
// host/collectives have their own vectorised and threaded loops. Memory: 4 bytes per value, 8 with
// a velocity. Deadlines have no effect, because no call waits. Threads: one at a time.
#pragma once

#include <memory>

#include "device/selection_unit.h"

namespace tandem::device::cpu {

// The residual of a new unit is zero. Throws Error if the shape is invalid.
std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape);

}  // namespace tandem::device::cpu
