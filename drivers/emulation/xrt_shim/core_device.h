// SPDX-License-Identifier: Apache-2.0
//
// Makes XRT's object for a device, at the address of an earlier object that was destroyed, if there
// is one.
//
// libxrt_coreutil 2.13 keeps a thread and entries of tables for every address at which it has seen
// a device, until the process ends. So a program that opens cards again and again would gain a
// thread each time. Threads: any.
#pragma once

#include <memory>

#include "emulation/xrt_shim/xrt_internal.h"

namespace tandem::emulation {

// `handle` is the result of xclOpen() for the card `index`.
std::shared_ptr<xrt_core::device> make_core_device(void* handle, unsigned int index);

}  // namespace tandem::emulation
