// SPDX-License-Identifier: Apache-2.0
//
// The numbers of parties that are neither rank nor device, and how many there may be.
#pragma once

namespace tandem::trace {

constexpr int kSwitchRank = -1;     // adds up and multiplies, as a rank of its own
constexpr int kHostParty = -2;      // of devices
constexpr int kMostParties = 4096;  // a dense matrix of more is of no use to people

}  // namespace tandem::trace
