// SPDX-License-Identifier: Apache-2.0
//
// XRT's object for a device, at an address that an earlier one has left where there is one.
//
// libxrt_coreutil 2.13 keeps a thread and entries of tables for every address at which it has seen
// a device, until the process ends. So a program that opens cards again and again would gain a
// thread each time. Threads: any.
#pragma once

#include <memory>

#include "emulation/xrt_shim/xrt_internal.h"

namespace tandem::emulation {

// `handle` is what xclOpen() gives out for the card `index`.
std::shared_ptr<xrt_core::device> make_core_device(void* handle, unsigned int index);

}  // namespace tandem::emulation
