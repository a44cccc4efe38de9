// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL C sources of this backend, embedded at build time from kernels/*.cl.
//
// Zero-terminated; constant for the life of the program; any thread.
#pragma once

namespace tandem::opencl {

extern const char kAttentionSource[];
extern const char kBandwidthSource[];

}  // namespace tandem::opencl
