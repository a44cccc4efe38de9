// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL backend of the device registry. It is part of every build: see Backend::available().
#pragma once

#include "device/registry.h"

namespace tandem::device {

const Backend& opencl_backend();

}  // namespace tandem::device
