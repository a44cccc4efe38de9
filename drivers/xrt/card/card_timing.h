// SPDX-License-Identifier: Apache-2.0
//
// CardTiming: costs of a card in addition to the cycles that its kernel counts.
//
// The fixed costs of a transfer and of a command are assumptions about a real card's driver, not
// measurements. Plain data.
#pragma once

namespace tandem::device::xrt_card {

struct CardTiming {
  double link_bandwidth_bytes_per_s = 0;  // 0: unknown; bytes cost nothing
  double transfer_s = 10e-6;
  double command_s = 20e-6;

  double transfer_seconds(double bytes) const {
    return transfer_s + (link_bandwidth_bytes_per_s > 0 ? bytes / link_bandwidth_bytes_per_s : 0);
  }
};

}  // namespace tandem::device::xrt_card
