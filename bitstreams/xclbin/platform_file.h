// SPDX-License-Identifier: Apache-2.0
//
// A user's own platform as a JSON file, for --platform, emconfigutil and TANDEM_CARD_PRESET.
//
// clang-format off
//   {
//     "name": "my_board",                     required; letters, digits, '_', '-' and '.'
//     "banks": [                              required; in address order unless bases are given
//       {"type": "HBM",                       required; HBM, DDR, PLRAM or HOST
//        "size": "256M",                      required; bytes, or text with K, M, G (powers of 1024)
//        "count": 32,                         default 1: so many banks of this size, one behind the other
//        "base": "0x0",                       default: behind the banks before; a number or text
//        "bandwidth_gb_per_s": 14.375,        of each bank; default 0, not known
//        "tag": "MC_NOC0"}                    default TYPE[index]; with a count: of the first, index appended
//     ],
//     "clocks_mhz": [300, 500],               kernel clock, second clock; defaults as shown
//     "pcie": {"generation": 3, "lanes": 16}, defaults as shown
//     "fpga": {"family": "virtexuplus", "part": "xcvu9p"},   default virtexuplus, none
//     "dma": true                             false: a shell without copy engine
//   }
// clang-format on
//
// Errors: Error naming the file and the wrong, missing or unknown field. Threads: any.
#pragma once

#include <string>

#include "bitstreams/xclbin/platform.h"

namespace tandem::xclbin {

Platform read_platform_file(const std::string& path);
// `origin` is used in messages only.
Platform parse_platform(const std::string& text, const std::string& origin);

}  // namespace tandem::xclbin
