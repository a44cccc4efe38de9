// SPDX-License-Identifier: Apache-2.0
//
// make_core_device: makes XRT's object for a device, at the address of an earlier, destroyed object
// if there is one.
//
// libxrt_coreutil 2.13 keeps a thread and table entries for every address of a device object until
// the process ends. So a program that opens cards repeatedly would get one more thread each time.
// Threads: any.
#pragma once

#include <memory>

#include "emulation/xrt_shim/xrt_internal.h"

namespace tandem::emulation {

// `handle` is the result of xclOpen() for the card `index`.
std::shared_ptr<xrt_core::device> make_core_device(void* handle, unsigned int index);

}  // namespace tandem::emulation
