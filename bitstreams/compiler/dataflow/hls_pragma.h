// SPDX-License-Identifier: Apache-2.0
//
// One `#pragma HLS` line: its directive and its options, in any case and spacing.
//
// "#pragma HLS STREAM variable = a depth=4 off" is kind "stream", values {variable: a, depth: 4},
// with "off" an option without a value. Keys and kind come in lower case, values as written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::xclbin {

struct HlsPragma {
  std::string kind;  // empty: not an HLS pragma
  std::vector<std::pair<std::string, std::string>> options;

  // The value of `key`; empty when it is not given.
  std::string value(std::string_view key) const;
};

HlsPragma parse_hls_pragma(std::string_view line);

}  // namespace tandem::xclbin
