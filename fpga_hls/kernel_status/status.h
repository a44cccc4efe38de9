// SPDX-License-Identifier: Apache-2.0
//
// A kernel's answer to a descriptor: a status, and a detail that says where the descriptor is
// wrong.
//
// The statuses of this file have the same meaning in every kernel. Each kernel numbers its own
// statuses from kFirstOwnStatus on, in its abi.h. The numbers belong to the ABI of every kernel: if
// one changes, kAbiVersion of all kernels changes. C++14, no dependency: compiled by Vitis HLS and
// by the host.
#pragma once

#include <cstdint>

namespace tandem {
namespace kernel_status {

using Status = std::uint32_t;

constexpr Status kRunning = 0;  // written by the driver; a kernel that ran leaves another value
constexpr Status kOk = 1;
constexpr Status kBadMagic = 2;
constexpr Status kBadVersion = 3;
constexpr Status kBadShape = 4;    // a field of the header is out of range
constexpr Status kBadSection = 5;  // a part is outside the descriptor
constexpr Status kFirstOwnStatus = 6;

struct Verdict {
  Status status;
  std::uint32_t detail;
};

constexpr Verdict verdict(Status status, std::uint32_t detail) { return Verdict{status, detail}; }

// Compares the first two fields of a descriptor with the kernel's own `magic` and `version`.
constexpr Verdict check_identity(std::uint32_t found_magic, std::uint32_t found_version,
                                 std::uint32_t magic, std::uint32_t version) {
  return found_magic != magic       ? verdict(kBadMagic, found_magic)
         : found_version != version ? verdict(kBadVersion, found_version)
                                    : verdict(kOk, 0);
}

}  // namespace kernel_status
}  // namespace tandem
