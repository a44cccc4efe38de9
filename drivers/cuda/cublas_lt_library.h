// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt, loaded when it is first called: a program starts without it, and without a driver.
//
// cublas_lt_library.cpp defines the library's functions that are used here, each handing its call
// on; where the library cannot be loaded they answer CUBLAS_STATUS_NOT_INITIALIZED. Threads: any.
#pragma once

#include <string>

namespace tandem::cuda {

// Why the library cannot be used; empty where it can. Loads it.
const std::string& reason_without_cublas_lt();

}  // namespace tandem::cuda
