// SPDX-License-Identifier: Apache-2.0
//
// Export handles of buffers: file descriptors that name an allocation of this process.
// Threads: any.
#pragma once

#include <memory>

#include "emulation/xrt_shim/device_handle.h"

namespace tandem::emulation {

// A new descriptor; -1 when none can be made.
int export_allocation(const std::shared_ptr<Allocation>& memory);
// The allocation behind a descriptor of export_allocation, or nullptr when it is not one or the
// buffer is gone.
std::shared_ptr<Allocation> import_allocation(int descriptor);
bool close_export(int descriptor);

}  // namespace tandem::emulation
