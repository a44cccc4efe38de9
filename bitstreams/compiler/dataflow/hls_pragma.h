// SPDX-License-Identifier: Apache-2.0
//
// One `#pragma HLS` line: its directive and its options, in any case and spacing.
//
// "#pragma HLS STREAM variable = a depth=4 off" has kind "stream" and values {variable: a, depth:
// 4}; "off" is an option without a value. Keys and kind are lower case, values unchanged. A value
// in brackets keeps its blanks; one beside an operator ("4 * 8") loses them.
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
