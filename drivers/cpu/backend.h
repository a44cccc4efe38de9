// SPDX-License-Identifier: Apache-2.0
//
// The cpu backend of the device registry. Present in every build; see Backend::available().
#pragma once

#include "device/registry.h"

namespace tandem::device {

const Backend& cpu_backend();

}  // namespace tandem::device
