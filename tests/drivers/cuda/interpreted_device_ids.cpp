// SPDX-License-Identifier: Apache-2.0
//
// In place of drivers/device/device_ids.cpp: the GPU that the interpreter is, and no other device.
#include "drivers/device/device_under_test.h"

namespace tandem::device_test {

std::vector<std::string> device_ids() { return {"cuda:0"}; }

}  // namespace tandem::device_test
