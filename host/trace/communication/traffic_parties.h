// SPDX-License-Identifier: Apache-2.0
//
// The numbers of parties that are neither ranks nor devices, and the greatest number of parties.
#pragma once

namespace tandem::trace {

constexpr int kSwitchRank = -1;     // the switch of an NVLink domain: reduces and multicasts
constexpr int kHostParty = -2;      // the host of devices
constexpr int kMostParties = 4096;  // a larger dense matrix cannot be read

}  // namespace tandem::trace
