// SPDX-License-Identifier: Apache-2.0
//
// Replaces drivers/device/device_ids.cpp: the interpreted GPU, and no other device.
#include "drivers/device/device_under_test.h"

namespace tandem::device_test {

std::vector<std::string> device_ids() { return {"cuda:0"}; }

}  // namespace tandem::device_test
