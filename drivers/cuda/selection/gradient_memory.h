// SPDX-License-Identifier: Apache-2.0
//
// Gradients in the memory of a GPU: measured by kernels, copied, and overwritten by sparse means.
//
// Memory: the staging of the largest call. Threads: one at a time. An object lost by a failure or a
// deadline leaks its memory, because work may still run.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/gradient_memory.h"

namespace tandem::cuda {

// Makes `device_index` current on the calling thread.
std::unique_ptr<device::GradientMemory> make_gradient_memory(int device_index,
                                                             const device::DeviceInfo& info);

}  // namespace tandem::cuda
