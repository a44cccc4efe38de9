// SPDX-License-Identifier: Apache-2.0
//
// Reads a user's own platform from a JSON file, for --platform, emconfigutil and
// TANDEM_CARD_PRESET.
//
// Errors: Error naming the file and the wrong, missing or unknown field. Threads: any.
#pragma once

#include <string>

#include "bitstreams/xclbin/platform.h"

namespace tandem::xclbin {

//   {
//     "name": "my_board",                  required; letters, digits, '_', '-' and '.'
//     "banks": [                           required; in address order unless bases are given
//       {"type": "HBM",                    required; HBM, DDR, PLRAM or HOST
//        "size": "256M",                   required; bytes, or text with K, M, G (powers of 1024)
//        "count": 32,                      default 1: number of adjacent banks of this size
//        "base": "0x0",                    default: the end of the previous bank; number or text
//        "bandwidth_gb_per_s": 14.375,     of each bank; default 0, not known
//        "tag": "MC_NOC0"}                 default TYPE[index]; with a count: of the first bank,
//                                          with the index appended
//     ],
//     "clocks_mhz": [300, 500],                kernel clock, second clock; defaults as shown
//     "pcie": {"generation": 3, "lanes": 16},  defaults as shown
//     "fpga": {"family": "virtexuplus", "part": "xcvu9p"},  default virtexuplus, none
//     "dma": true                              false: a shell without copy engine
//   }
Platform read_platform_file(const std::string& path);
// `origin` is used in messages only.
Platform parse_platform(const std::string& text, const std::string& origin);

}  // namespace tandem::xclbin
